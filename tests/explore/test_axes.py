"""Roles of axes: what fixes a size decides first, then what its callers make it of, and names last."""

from __future__ import annotations

from tests.explore.project import KERNEL, find_in
from triton_doctor.explore.axis_roles import judge
from triton_doctor.explore.model import Axis, EntryOutcome, InnerCall, MadeUpCall, Place

MODULE = """

class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return run(x, x.shape[0] * 2)


def run(x, count):
    return scale(x)


def attend(q, seq_len, w_scale, num_heads):
    return scale(q)


def flat(x):
    n = x.numel()
    return scale(x)
"""


def axis(name, *places, tied=(), ran=4):
    return Axis(name=name, size=64, places=tuple(Place(argument=a, axis=i) for a, i in places), tied_to=tied, ran=ran)


def outcome(entry, *axes, inner=()):
    return EntryOutcome(
        entry=entry, status="complete", calls=(MadeUpCall(arguments={}, axes=axes, moves=(), inner=inner),)
    )


def judged(tmp_path, *outcomes):
    """Return the role and the provenance of each axis, by its name, and whether it is certain."""
    found = find_in(tmp_path, {"ops.py": KERNEL + MODULE})
    judgements = judge(found, outcomes)
    return {
        one.name: (of.role, of.provenance, of.is_certain)
        for each in outcomes
        for one in each.calls[0].axes
        for of in [judgements.of_axis(each.entry, 0, one.name)]
    }


def test_what_the_constructor_sets_is_the_models(tmp_path):
    assert judged(tmp_path, outcome("ops:Norm", axis("dim", ("init.dim", None)))) == {
        "dim": ("model", "constructor", True)
    }


def test_axis_that_was_forced_to_equal_a_parameters_is_the_models(tmp_path):
    forced = axis("T", ("x", 1), tied=(("parameter", "weight.0"),))

    assert judged(tmp_path, outcome("ops:Norm", forced)) == {"T": ("model", "parameter", True)}


def test_axis_of_an_input_beside_one_that_the_module_fixes_is_the_datas(tmp_path):
    fixed = axis("dim", ("init.dim", None), ("x", 1), tied=(("constructor", "init.dim"),))
    free = axis("x_0", ("x", 0))

    assert judged(tmp_path, outcome("ops:Norm", fixed, free))["x_0"] == ("data", "input", True)


def test_axis_of_an_input_without_a_size_of_the_module_beside_it_is_certain_of_nothing(tmp_path):
    assert not judged(tmp_path, outcome("ops:Norm", axis("x_0", ("x", 0)), axis("x_1", ("x", 1))))["x_0"][2]


def test_heads_beside_what_the_module_fixes_are_not_taken_for_data(tmp_path):
    fixed = axis("dim", ("init.dim", None), ("x", 1), tied=(("constructor", "init.dim"),))

    assert judged(tmp_path, outcome("ops:Norm", fixed, axis("num_heads", ("x", 0))))["num_heads"][0] == "model"


def test_integer_of_an_inner_function_is_judged_where_its_caller_makes_it(tmp_path):
    fixed = axis("dim", ("init.dim", None), ("x", 1), tied=(("constructor", "init.dim"),))
    inner = InnerCall(entry="ops:run", place=Place(argument="count"), follows=("x_0",))
    found = judged(
        tmp_path,
        outcome("ops:Norm", fixed, axis("x_0", ("x", 0)), inner=(inner,)),
        outcome("ops:run", axis("count", ("count", None))),
    )

    assert found["count"] == ("data", "caller", True)


def test_constant_of_a_caller_is_the_models(tmp_path):
    inner = InnerCall(entry="ops:run", place=Place(argument="count"), follows=())
    found = judged(tmp_path, outcome("ops:Norm", inner=(inner,)), outcome("ops:run", axis("count", ("count", None))))

    assert found["count"] == ("model", "caller", True)


def test_name_of_a_length_is_data_and_of_heads_the_models_and_neither_is_certain(tmp_path):
    found = judged(
        tmp_path,
        outcome(
            "ops:attend",
            axis("seq_len", ("seq_len", None)),
            axis("num_heads", ("num_heads", None)),
            axis("KV_H", ("q", 1)),
            axis("w_scale", ("w_scale", None)),
        ),
    )

    assert found["seq_len"] == ("data", "name", False)
    assert found["num_heads"] == ("model", "name", False)
    assert found["KV_H"][0] == "model"
    assert found["w_scale"][0] == "unknown"


def test_only_axis_of_a_tensor_counts_its_elements(tmp_path):
    assert judged(tmp_path, outcome("ops:flat", axis("x_0", ("x", 0))))["x_0"][0] == "data"


def test_size_that_tests_vary_is_data_unless_something_else_decides(tmp_path):
    varied = (("test", ""),)
    found = judged(
        tmp_path,
        outcome(
            "ops:attend", axis("mine", ("w_scale", None), tied=varied), axis("heads", ("num_heads", None), tied=varied)
        ),
        outcome("ops:Norm", axis("dim", ("init.dim", None), tied=varied)),
    )

    assert found["mine"] == ("data", "test", False)
    assert found["heads"][0] == "model"
    assert found["dim"] == ("model", "constructor", True)
