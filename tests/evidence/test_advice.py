"""Each cause of a compile has something to do about it, or a reason why not; each rule that is named has a page."""

from dataclasses import replace

import pytest

from tests.evidence.recorded import SCALE, SOURCE, compile_event, process, tuning_event, weigh
from triton_doctor.evidence import advise, rules_behind
from triton_doctor.finding import Verdict
from triton_doctor.report.recording.wording import describe_faults
from triton_doctor.rulebook import page_paths
from triton_doctor.runtime.account import account
from triton_doctor.runtime.cause_table import CAUSES, FIRST
from triton_doctor.runtime.causes import explain
from triton_doctor.runtime.recording import Recording
from triton_doctor.runtime.remedies import find_change, way_out

# None or not is a choice, another device compiles its own, and the first compile is no recompile.
NOTHING_TO_CHANGE = {"TRD706", "TRD709", FIRST}


def test_each_cause_has_a_remedy():
    assert {code for code, cause in CAUSES.items() if cause.change is None} == NOTHING_TO_CHANGE


def test_rules_that_are_named_have_pages():
    assert {code for cause in CAUSES for code in rules_behind(cause)} <= page_paths().keys()
    assert rules_behind("TRD702")[:2] == ("TRD201", "TRD202")
    assert rules_behind("TRD709") == ()


def test_advice_is_sorted_by_what_it_saves_and_leaves_bystanders_out():
    advice = advise(account(Recording.read_each("fixtures/recordings")))

    saved = [one.saved_us for one in advice]
    assert saved == sorted(saved, reverse=True)
    (mask,) = [one for one in advice if one.kernel and one.kernel.name == "constexpr_mask"]
    assert "`stride_mask_qo` and `max_kv_len_per_req`" in mask.remedy
    assert "BLOCK" not in mask.remedy


def test_what_a_round_of_tuning_tries_is_nothing_to_change():
    first = compile_event(17, tuning=True)
    wider = replace(first, key=replace(first.key, constants=(("n_rows", 17), ("BLOCK", 128))))

    advised = advise(account([process([first, wider, tuning_event(17)], 900)]))

    assert [advice.codes for advice in advised if advice.kernel] == []


def launched_from(folder, events):
    """`events` of the kernel of SOURCE, as a file in `folder`, and the advice on them."""
    file = folder / "pack" / "kernels.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(SOURCE)
    name = replace(SCALE, path=file.as_posix())
    own = [
        replace(event, kernel=name, launch_site=replace(event.launch_site, path=file.as_posix())) for event in events
    ]
    recording = process(own, 320, kernel=name)
    return recording, [advice for advice in advise(account([recording])) if advice.kernel]


def of_blocks(blocks):
    first = compile_event(17)
    constants = [(("n_rows", 17), ("BLOCK", block)) for block in blocks]
    return [replace(first, key=replace(first.key, constants=each)) for each in constants]


def test_size_of_a_block_is_never_advised_to_be_a_plain_argument(tmp_path):
    _, advised = launched_from(tmp_path, of_blocks([16, 32, 64, 128, 256, 512]))

    assert advised == []


def test_source_says_what_a_parameter_is_for_and_which_rules_fire(tmp_path):
    _, (advised,) = launched_from(tmp_path, [compile_event(n_rows) for n_rows in range(17, 23)])

    assert advised.fact == "without `n_rows` in its key, 1 of 6 variants would remain"
    assert advised.remedy == "pass `n_rows` without tl.constexpr: the kernel does not need it while it compiles"
    assert (advised.rules, advised.in_source) == (("TRD201",), True)


def test_source_that_is_gone_shows_nothing():
    (advised,) = advise(account([process([compile_event(n_rows) for n_rows in range(17, 23)], 6)]))

    assert advised.remedy == "pass `n_rows` without tl.constexpr, unless the kernel needs the value while it compiles"
    assert (advised.rules[0], advised.in_source) == ("TRD201", None)


@pytest.mark.parametrize(
    ("now", "told"),
    [
        pytest.param({"constants": (("n_rows", 18), ("BLOCK", 64))}, "warm up each value that is to come", id="value"),
        pytest.param({"constants": (("n_rows", None), ("BLOCK", 64))}, "warm up both", id="None or not"),
        pytest.param({"attributes": (("m", "%16"),)}, "warm up each class: 1, divisible by 16, any other", id="class"),
        pytest.param({"signature": (("x_ptr", "none"),)}, "warm up both", id="no tensor"),
    ],
)
def test_without_the_source_a_guard_advises_only_to_warm_up(now, told):
    before = compile_event(True if now.get("constants", "")[:1] == (("n_rows", None),) else 17)
    changed = dict(before.key.signature) | dict(now.pop("signature", ()))
    after = replace(before, key=replace(before.key, signature=tuple(changed.items()), **now))

    assert way_out(explain(after, [before])) == told


def test_a_stride_is_never_advised_to_lose_its_class_and_an_unread_integer_is_to_be_removed():
    assert find_change("TRD703", ["stride_xm"], {}) is None
    assert find_change("TRD703", ["stride_xm", "key"], {"key": "unread"}) == "remove `key`: the kernel never reads it"
    assert way_out(explain(compile_event(17, m=16), [compile_event(17)]), {"m": "unread"}) == (
        "remove `m`: the kernel never reads it, or warm up each class: 1, divisible by 16, any other"
    )


@pytest.mark.parametrize(
    ("took_us", "classes", "compile_only", "advised"),
    [
        pytest.param(60_000, (7, 16, 1), False, 1, id="0.12 s of a run"),
        pytest.param(40_000, (7, 16, 1), False, 0, id="0.08 s of a run"),
        pytest.param(10, (7, 16, 1), True, 1, id="two variants that were compiled only"),
        pytest.param(900_000, (7, 16), True, 0, id="one variant that was compiled only"),
    ],
)
def test_a_change_that_saves_next_to_nothing_is_not_advised(took_us, classes, compile_only, advised):
    events = [compile_event(17, m=m, stages_us=(("cubin", took_us),), at_ns=m * 10**9) for m in classes]
    events = [
        replace(one, key=replace(one.key, attributes=(("m", "=1"),))) if dict(one.values)["m"] == 1 else one
        for one in events
    ]
    recording = process(events, 9)
    recording.headers[0] = replace(recording.headers[0], compile_only=compile_only)

    assert len([one for one in advise(account([recording])) if one.kernel]) == advised


def test_check_confirms_what_the_report_advises(tmp_path):
    # Four values in twelve variants: a handful for one who counts values, and nine compiles for one who waits.
    events = [compile_event(n_rows, m=m) for n_rows in range(17, 21) for m in (1, 7, 16)]
    classes = {1: (("m", "=1"),), 7: (), 16: (("m", "%16"),)}
    events = [replace(e, key=replace(e.key, attributes=classes[dict(e.values)["m"]])) for e in events]
    recording, advised = launched_from(tmp_path, events)

    (judged,) = [one for one in weigh(tmp_path, recording) if one.facts.parameter == "n_rows"]

    assert advised[0].parameters == ("n_rows",)
    assert judged.evidence is not None
    assert judged.evidence.verdict is Verdict.CONFIRMED
    assert judged.evidence.text == "4 values seen, 3 of 12 variants would remain without it, 450 ms"


def test_long_compile_of_an_unrolled_loop_is_told_with_stages_sizes_and_its_length(tmp_path):
    unrolled = SOURCE.replace(
        "    row = tl", "    for i in tl.static_range(n_rows):\n        tl.store(out_ptr + i, i)\n    row = tl"
    )
    (tmp_path / "kernels.py").write_text(unrolled)
    kernel = replace(SCALE, path=(tmp_path / "kernels.py").as_posix())
    stages = (("ttgir", 2_000_000), ("llir", 11_000_000), ("cubin", 45_000_000))
    event = compile_event(400, kernel=kernel, stages_us=stages, sizes=(("llir", 20_000_000), ("cubin", 3_000_000)))
    seen = account([process([event], 1, kernel=kernel)])
    (told,) = [advice for advice in advise(seen) if advice.parameters == ("n_rows",)]

    assert told.fact == "one compile took 58 s: `tl.static_range` unrolls a loop over `n_rows`, 400 here"
    assert told.in_source
    assert list(describe_faults(seen.kernels[0])) == [
        "one compile took 58.00 s: cubin 45.00 s, llir 11.00 s, ttgir 2.00 s; it made 20.0 MB of llir, 3.0 MB of cubin"
    ]


def test_compile_of_seconds_is_not_long(tmp_path):
    seen = account([process([compile_event(400, stages_us=(("cubin", 9_000_000),))], 1)])

    assert seen.kernels[0].longest is None
