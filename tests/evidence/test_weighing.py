"""What recorded runs say of a prediction: confirmed by many values, cleared by few in enough, else not exercised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.evidence.recorded import SCALE, SOURCE, compile_event, process, tuning_event, weigh, weigh_folder
from triton_doctor.finding import Severity, Verdict
from triton_doctor.runtime.event import KernelName, LaunchSite

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conftest import Outcome
    from triton_doctor.runtime.recording import Recording

ROOT = Path(__file__).parent.parent.parent
RUNS = ROOT / "fixtures" / "runs"
RECORDINGS = ROOT / "fixtures" / "recordings"
SEVEN = [compile_event(rows) for rows in (17, 18, 20, 21, 33, 40, 41)]
OTHER = KernelName(name="other", module="elsewhere", path="/opt/elsewhere.py", line=1)


def told(findings: list) -> tuple[Verdict, str, Severity]:
    (finding,) = [one for one in findings if one.facts.parameter == "n_rows"]
    assert finding.evidence is not None
    return finding.evidence.verdict, finding.evidence.text, finding.severity


@pytest.mark.parametrize(
    ("recordings", "expected"),
    [
        pytest.param(
            [process(SEVEN, 900)],
            (Verdict.CONFIRMED, "7 values seen, 7 compiles, 350 ms", Severity.ERROR),
            id="many values",
        ),
        pytest.param(
            [process([*SEVEN, compile_event(41, m=16)], 900)],
            (Verdict.CONFIRMED, "7 values seen, 7 compiles, 350 ms", Severity.ERROR),
            id="what another argument cost is not its price",
        ),
        pytest.param(
            [process([compile_event(17), compile_event(17, m=16)], 4000)],
            (Verdict.CLEARED, "1 value in 4,000 launches", Severity.INFO),
            id="one value in many launches, while another argument varied",
        ),
        pytest.param(
            [process([compile_event(17), compile_event(18), compile_event(20)], 4000)],
            (Verdict.CLEARED, "3 values in 4,000 launches", Severity.INFO),
            id="a handful in many launches",
        ),
        pytest.param(
            [process([compile_event(17, m=m) for m in range(1, 9)], 8)],
            (Verdict.CLEARED, "1 value in 8 variants, 8 launches", Severity.INFO),
            id="one value whatever the others were",
        ),
        pytest.param(
            [process([compile_event(17)], 4000)],
            (
                Verdict.NOT_EXERCISED,
                "1 value in 4,000 launches, while nothing else varied either",
                Severity.WARNING,
            ),
            id="the same launch again and again",
        ),
        pytest.param(
            [process([compile_event(17), compile_event(18), compile_event(20)], 12)],
            (Verdict.NOT_EXERCISED, "3 values in 12 launches, too few to decide", Severity.WARNING),
            id="too few launches",
        ),
        pytest.param(
            [process([compile_event(17, tuning=True), tuning_event(17)], 28_000)],
            (
                Verdict.NOT_EXERCISED,
                "1 value seen; its launches cannot be separated from those of tuning",
                Severity.WARNING,
            ),
            id="launched by tuning",
        ),
        pytest.param(
            [process([compile_event(17, m=m, tuning=True) for m in (7, 16)] + [tuning_event(17, 27_000)], 28_000)],
            (Verdict.CLEARED, "1 value in 1,000 launches", Severity.INFO),
            id="launched by tuning, which was counted",
        ),
        pytest.param(
            [process([], 0)],
            (Verdict.NOT_EXERCISED, "`scale` was not launched", Severity.WARNING),
            id="not there",
        ),
        pytest.param(
            [process([compile_event(rank), compile_event(rank, m=16)], 300, pid=rank) for rank in range(8)],
            (Verdict.CLEARED, "1 value in 2,400 launches", Severity.INFO),
            id="another value in each process",
        ),
        pytest.param(
            [process(SEVEN, 900), process(SEVEN, 900)],
            (Verdict.CONFIRMED, "7 values seen, 7 compiles, 350 ms", Severity.ERROR),
            id="the same process given twice",
        ),
        pytest.param(
            [process([compile_event(rows, tier="loaded from disk") for rows in (3, 5, 6, 7, 9)], 90)],
            (Verdict.CONFIRMED, "5 values seen, 5 loads from disk, 250 ms", Severity.ERROR),
            id="loaded from disk",
        ),
    ],
)
def test_verdict_follows_from_values_and_launches(
    tmp_path: Path, recordings: list[Recording], expected: tuple[Verdict, str, Severity]
) -> None:
    assert told(weigh(tmp_path, *recordings)) == expected


def test_benchmark_of_another_kernel_that_varied_lets_one_value_count(tmp_path: Path) -> None:
    varied = [compile_event(1, kernel=OTHER), compile_event(2, kernel=OTHER)]

    verdict, _, _ = told(weigh(tmp_path, process([compile_event(17), *varied], 4000)))

    assert verdict is Verdict.CLEARED


@pytest.mark.parametrize(
    ("recorded", "verdict"),
    [
        pytest.param(SCALE, Verdict.CONFIRMED, id="another machine's folder"),
        pytest.param(
            KernelName(name="scale", module="pack.kernels", path="C:\\env\\pack\\kernels.py", line=60),
            Verdict.CONFIRMED,
            id="another system, and moved lines",
        ),
        pytest.param(
            KernelName(name="scale", module="__main__", path="/home/user/kernels.py", line=6),
            Verdict.CONFIRMED,
            id="run as a script",
        ),
        pytest.param(
            KernelName(name="scale", module="other.kernels", path="/opt/env/other/kernels.py", line=6),
            Verdict.NOT_EXERCISED,
            id="the kernel of another package, in a file that is called alike",
        ),
        pytest.param(
            KernelName(name="scale", module="__main__", path="/home/user/train.py", line=6),
            Verdict.NOT_EXERCISED,
            id="another file",
        ),
    ],
)
def test_kernel_is_known_by_module_or_path_and_not_by_its_name_alone(
    tmp_path: Path, recorded: KernelName, verdict: Verdict
) -> None:
    events = [compile_event(rows, kernel=recorded) for rows in (17, 18, 20, 21, 33)]

    assert told(weigh(tmp_path, process(events, 90, recorded)))[0] is verdict


def test_of_two_files_that_are_called_alike_the_longer_path_decides(tmp_path: Path) -> None:
    weigh(tmp_path, path="copy/kernels.py")

    findings = weigh(tmp_path, process(SEVEN, 900))

    by_path = {one.path: one.evidence.verdict for one in findings if one.evidence}
    assert by_path == {"pack/kernels.py": Verdict.CONFIRMED, "copy/kernels.py": Verdict.NOT_EXERCISED}


def test_script_that_may_be_any_of_two_files_counts_for_neither(
    doctor: Callable[..., Outcome], write: Callable[..., Path], tmp_path: Path
) -> None:
    script = KernelName(name="scale", module="__main__", path="/home/user/kernels.py", line=6)
    for folder in ("one", "two"):
        write(f"{folder}/kernels.py", SOURCE)
    events = [compile_event(rows, kernel=script) for rows in (17, 18, 20, 21, 33)]

    findings = weigh_folder(tmp_path, process(events, 90, script))

    assert {one.evidence.verdict for one in findings if one.evidence} == {Verdict.NOT_EXERCISED}


HIDDEN = SOURCE.replace("x.shape[0]", "rows_of(x)")


def test_what_reading_did_not_see_is_added_at_the_launch_or_the_parameter(tmp_path: Path) -> None:
    assert weigh(tmp_path, source=HIDDEN) == []

    (finding,) = weigh(tmp_path, process(SEVEN, 900), source=HIDDEN)

    assert finding.evidence is not None
    assert (finding.code, finding.severity, finding.evidence.verdict) == ("TRD201", Severity.ERROR, Verdict.ADDED)
    assert finding.message == "`n_rows` recompiled `scale` in a run: 17, 18, 20, 21, 33, 40, 41"
    assert finding.span.line == 13


def test_what_is_added_stands_at_the_launch_that_was_seen(tmp_path: Path) -> None:
    twice = HIDDEN + "\n\ndef other(x, out, m):\n    scale[(8,)](x, out, m, rows_of(out), BLOCK=64)\n"
    site = LaunchSite(path="/opt/env/site-packages/pack/kernels.py", line=17, function="other")
    events = [compile_event(rows, launch_site=site) for rows in (17, 18, 20, 21, 33)]

    (finding,) = weigh(tmp_path, process(events, 90), source=twice)

    assert finding.span.line == 17


def test_powers_of_two_are_added_as_a_remark(tmp_path: Path) -> None:
    (finding,) = weigh(tmp_path, process([compile_event(1 << power) for power in range(7)], 90), source=HIDDEN)

    assert finding.severity is Severity.INFO


def test_parameter_that_is_mended_since_the_run_is_not_added(tmp_path: Path) -> None:
    mended = HIDDEN.replace("n_rows: tl.constexpr", "n_rows")

    assert weigh(tmp_path, process(SEVEN, 900), source=mended) == []


def test_comment_silences_what_a_run_added(tmp_path: Path) -> None:
    silenced = HIDDEN.replace("BLOCK=64)", "BLOCK=64)  # triton-doctor: ignore[TRD201] seven in all")

    assert weigh(tmp_path, process(SEVEN, 900), source=silenced) == []


def test_values_that_only_tuning_tried_are_not_added(tmp_path: Path) -> None:
    trials = [compile_event(17, m=m, tuning=True) for m in (16, 17)] * 5

    assert weigh(tmp_path, process([*trials, tuning_event(17)], 900), source=HIDDEN) == []


def test_integer_that_changed_its_class_again_and_again_is_added(tmp_path: Path) -> None:
    events = [compile_event(17, m=m) for m in (16, 17)] + [
        compile_event(17, m=m, device=device) for device in (1, 2, 3, 4) for m in (16, 17)
    ]

    (finding,) = [one for one in weigh(tmp_path, process(events, 90)) if one.code == "TRD208"]

    assert (
        finding.message
        == "`m` of `scale` changed between 1, multiples of 16 and others in a run, and compiled or loaded each time"
    )


def test_once_in_each_of_many_processes_is_not_again_and_again(tmp_path: Path) -> None:
    runs = [process([compile_event(17, m=m) for m in (16, 17)], 90, pid=pid) for pid in range(9)]

    assert [one.code for one in weigh(tmp_path, *runs) if one.code == "TRD208"] == []


def test_compiles_of_tuning_have_a_price_where_no_round_tells_it(tmp_path: Path) -> None:
    tuned = [compile_event(rows, tuning=True) for rows in (17, 18, 20, 21, 33)]

    assert told(weigh(tmp_path, process([*tuned, tuning_event(17)], 900)))[1] == "5 values seen, 5 compiles, 250 ms"


@pytest.mark.parametrize("recording", ["ragged_mask_constexpr.jsonl", "ragged_mask_constexpr_second_process.jsonl"])
def test_real_run_confirms_the_lengths_of_a_table_of_kernels_and_adds_what_its_source_hides(
    doctor: Callable[..., Outcome], write: Callable[..., Path], recording: str
) -> None:
    program = ROOT / "tests" / "runtime" / "programs" / "ragged_mask.py"
    hidden = write("ragged_mask.py", program.read_text().replace("KERNELS[REST[0]]", "REST[0]"))

    verdicts = {}
    for path in (program, hidden):
        outcome = doctor("check", "--recording", str(RECORDINGS / recording), str(path), "--output-format", "json")
        weighed = {one["parameter"]: one["evidence"] for one in json.loads(outcome.out)["findings"] if one["evidence"]}
        assert {one["values"] for one in weighed.values()} == {40}
        verdicts[path] = {name: one["verdict"] for name, one in weighed.items()}

    lengths = ("stride_mask_qo", "max_kv_len_per_req")
    assert verdicts == {program: dict.fromkeys(lengths, "confirmed"), hidden: dict.fromkeys(lengths, "added")}


def test_real_run_confirms_the_founding_case_and_its_fixed_form_has_nothing_to_confirm(
    doctor: Callable[..., Outcome],
) -> None:
    seeds = ROOT / "fixtures" / "seeds"
    seed, fixed = (str(seeds / f"ragged_attention_mask{end}.py") for end in ("", "_fixed"))

    outcome = doctor("check", seed, "--recording", str(RUNS / "seed_ragged_attention_mask.jsonl"))
    after = doctor("check", fixed, "--recording", str(RUNS / "seed_ragged_attention_mask_fixed.jsonl"))

    assert "= runs: confirmed: 40 values seen, 40 compiles, 1.6 s" in outcome.out
    assert "by the recordings: 3 confirmed\n3 errors" in outcome.out
    assert (after.status, after.out) == (0, "no problems in 1 file, 1 kernel, 1 launch\n")


def test_recordings_of_something_else_are_told(doctor: Callable[..., Outcome], write: Callable[..., Path]) -> None:
    write("a.py", SOURCE)

    outcome = doctor("check", "--recording", str(RECORDINGS))

    assert outcome.err == (
        "triton-doctor: no kernel of the recordings is in the files that were read\n"
        "  `double` of double.py\n"
        "  `_fused_add_rms_norm_forward_kernel` of liger_kernel/ops/fused_add_rms_norm.py\n"
        "  `_fused_add_rms_norm_backward_kernel` of liger_kernel/ops/fused_add_rms_norm.py\n"
        "  and 10 more\n"
    )
    assert "not exercised: `scale` was not launched" in outcome.out


@pytest.mark.parametrize("form", ["full", "concise", "json", "github", "sarif"])
def test_each_form_tells_the_evidence(doctor: Callable[..., Outcome], form: str) -> None:
    seed = str(ROOT / "fixtures" / "seeds" / "ragged_attention_mask.py")
    recording = str(RUNS / "seed_ragged_attention_mask.jsonl")

    outcome = doctor("check", seed, "--recording", recording, "--output-format", form)

    assert "40 values seen, 40 compiles, 1.6 s" in outcome.out


def test_file_that_is_no_recording_is_two_lines(doctor: Callable[..., Outcome], write: Callable[..., Path]) -> None:
    write("a.py", SOURCE)
    write("torn.jsonl", "{}")

    outcome = doctor("check", "--recording", "torn.jsonl")

    assert outcome.status == 2
    assert outcome.err.startswith("triton-doctor: torn.jsonl is not a recording")
