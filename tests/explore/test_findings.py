"""Outcomes of entries to what they say of a kernel, of a finding, and of what was not reached."""

from __future__ import annotations

import json

import pytest

from tests.explore.project import KERNEL, find_in
from triton_doctor.explore.findings import Findings
from triton_doctor.explore.model import Axis, EntryOutcome, MadeUpCall, Move, Place
from triton_doctor.explore.sweep_report import report

# What `check` says nothing of: BLOCK is a number that nobody knows.
OPEN = KERNEL.replace("def scale(x):", "def scale(x, n):").replace("next_power_of_2(width)", "next_power_of_2(n)")
OPS = f"""{OPEN}

class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        return scale(x, chosen(x))
"""
END = '{"event":"end","wall_us":1,"at_ns":7}'
FIXED = Axis(
    name="dim",
    size=64,
    places=(Place(argument="init.dim"), Place(argument="x", axis=1)),
    tied_to=(("constructor", "init.dim"),),
    ran=9,
)
ROWS = Axis(name="rows", size=64, places=(Place(argument="x", axis=0),), ran=9)
WIDTH = Axis(name="seq_len", size=64, places=(Place(argument="n"),), ran=9)


@pytest.fixture
def found(tmp_path):
    return find_in(tmp_path, {"ops.py": OPS, "other.py": OPEN.replace("scale", "other")})


def outcome(entry, *axes, follows=(), status="complete", error="", **more):
    """Return the outcome of an entry that launched `scale_kernel`, whose BLOCK follows an axis."""
    move = Move(
        kernel="scale_kernel",
        kernel_path="ops.py",
        kernel_line=8,
        part="constexpr",
        name="BLOCK",
        follows=follows,
        formula=f"next_power_of_2({follows[0]})" if follows else "",
        growth="log2",
        values=(16, 32, 64),
        sizes=dict.fromkeys(follows, (16, 32, 64)),
        along=dict.fromkeys(follows, (16, 32, 64)),
    )
    moves, unmoved = ((move,), ()) if follows else ((), (("ops:scale_kernel", "constexpr", "BLOCK"),))
    call = MadeUpCall(arguments={"x": "torch.empty(rows, 64)"}, axes=axes, moves=moves, unmoved=unmoved, error=error)
    return EntryOutcome(
        entry=entry,
        status=status,
        kernels=(("ops", "scale_kernel", "ops.py", 8),),
        calls=(call,),
        recording=('{"event":"header"}', END),
        error=error,
        **more,
    )


def failed(entry, **more):
    return EntryOutcome(entry=entry, status="raised", error="ValueError: no", where="ops.py:14", **more)


def part_of(found, *outcomes):
    (kernel,) = Findings(found, outcomes).kernels
    (part,) = kernel.parts
    return part


def test_what_moved_in_a_caller_outweighs_what_moved_in_the_function_that_it_calls(found):
    inner = outcome("ops:scale", Axis(name="n", size=64, places=WIDTH.places, ran=9), follows=("n",))
    outer = outcome("ops:Norm", FIXED, follows=("dim",))

    assert part_of(found, inner).judged.role == "unknown"
    assert part_of(found, inner, outer).judged.role == "model"
    assert [one.entry for one in part_of(found, inner, outer).sightings] == ["ops:Norm"]


def test_public_function_whose_names_speak_of_data_is_not_the_models_because_a_module_fixes_it(found):
    inner, outer = outcome("ops:scale", WIDTH, follows=("seq_len",)), outcome("ops:Norm", FIXED, follows=("dim",))

    assert part_of(found, inner, outer).judged.role == "data"


def test_part_that_some_entry_moves_with_the_data_follows_the_data(found):
    both = outcome("ops:Norm", FIXED, ROWS, follows=("dim",)), outcome("other:other", WIDTH, follows=("seq_len",))

    assert part_of(found, *both).judged.role == "data"


@pytest.mark.parametrize(
    ("of_scale", "is_covered"),
    [
        pytest.param(lambda: outcome("ops:scale", WIDTH), True, id="all ran"),
        pytest.param(lambda: failed("ops:scale"), False, id="an entry failed"),
        pytest.param(lambda: outcome("ops:scale", WIDTH, error="no", status="partial"), False, id="an entry raised"),
        pytest.param(
            lambda: outcome("ops:scale", Axis(name="n", size=1, places=WIDTH.places, ran=1)), False, id="not varied"
        ),
        pytest.param(lambda: outcome("ops:scale", WIDTH, stand_ins=("apex",)), False, id="a package was stood in for"),
    ],
)
def test_kernel_is_covered_only_if_all_that_reaches_it_ran_and_each_axis_was_varied(found, of_scale, is_covered):
    (kernel,) = Findings(found, [of_scale(), outcome("ops:Norm", FIXED, ROWS, follows=("dim",))]).kernels

    assert kernel.is_covered is is_covered


def test_kernel_is_not_covered_if_the_user_named_some_entries_only(tmp_path):
    named = find_in(tmp_path, {"ops.py": OPS}, names=("scale",))
    (kernel,) = Findings(named, [outcome("ops:scale", WIDTH)]).kernels

    assert not kernel.is_covered


def test_events_say_what_a_part_follows_and_how_that_is_known(found):
    findings = Findings(found, [outcome("ops:Norm", FIXED, ROWS, follows=("dim",))])
    header, event, end = map(json.loads, findings.recording())

    assert (header["event"], event["event"], end["event"]) == ("header", "sweep", "end")
    assert (event["function"], event["name"], event["origin"]) == ("scale_kernel", "BLOCK", "axis 1 of `x`")
    assert (event["role"], event["is_certain"], event["per_model"], event["at_ns"]) == ("model", True, True, 7)


def test_report_begins_with_what_was_reached_and_lists_what_was_not_with_what_would_help(found):
    outcomes = [outcome("ops:Norm", FIXED, ROWS, follows=("dim",)), failed("other:other", help="pass an example")]
    text = report(found, outcomes, isolation="no sandbox", cwd=found.root).to_text(80)

    assert text.startswith("1 of 2 launched kernels reached, by 1 of 2 entries\n")
    assert "`BLOCK` = next_power_of_2(dim), dim = axis 1 of `x` in `Norm(x)`" in text
    assert "  other.py:other_kernel\n" in text
    assert "  other.py:other: raised: ValueError: no (ops.py:14)\n    pass an example\n" in text
    assert "Run dry; no sandbox." in text
    assert text.endswith("this says nothing.\n") or "says\nnothing.\n" in text
    assert max(map(len, text.splitlines())) <= 80


def test_axis_of_unknown_role_is_a_question(found):
    axis = Axis(name="w_1", size=8, places=(Place(argument="w", axis=1),), ran=9)

    assert "`BLOCK` varies with axis 1 of `w` (is it fixed?)" in report(
        found, [outcome("other:other", axis, follows=("w_1",))], isolation="", cwd=found.root
    ).to_text(80)


def test_json_has_the_kernels_their_parts_and_what_was_not_reached(found):
    outcomes = [outcome("ops:Norm", FIXED, ROWS, follows=("dim",))]
    told = report(found, outcomes, isolation="", cwd=found.root).to_json()

    assert (told["summary"]["reached_kernels"], told["summary"]["launched_kernels"]) == (1, 2)
    assert told["not_reached"] == ["other.py:other_kernel"]
    assert told["kernels"][0]["parts"][0]["provenance"] == "constructor"
    json.dumps(told)


def test_paths_are_relative_to_the_working_directory(found):
    outcomes = [outcome("ops:Norm", FIXED, ROWS, follows=("dim",)), failed("other:other", help="pass an example")]
    result = report(found, outcomes, isolation="", cwd=found.root.parent)
    text, folder = result.to_text(120), found.root.name

    assert f"scale_kernel ({folder}/ops.py:" in text
    assert f"  {folder}/other.py:other_kernel\n" in text
    assert f"  {folder}/other.py:other: raised: ValueError: no ({folder}/ops.py:14)\n" in text
    assert result.to_json()["kernels"][0]["path"] == f"{folder}/ops.py"
