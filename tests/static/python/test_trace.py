"""Steps of a program: what each evaluates, what decides over it, where its parts stand."""

from __future__ import annotations

import pytest

from triton_doctor.static.python.ir import Call, Const, Name, Opaque, dotted
from triton_doctor.static.python.parse import read_trace
from triton_doctor.static.python.printing import spell
from triton_doctor.static.python.step import Condition, LoopOver, Managed, Surrounding


def around_of_use(text: str) -> list[str]:
    """What stands around the one call of `use` in `text`, outermost first."""
    module = read_trace(text.encode()).module
    steps = [step for routine in (module, *module.functions) for step in routine.steps]
    (found,) = (step.around for step in steps if isinstance(step.value, Call) and step.value.func == Name("use"))
    return list(map(told, found))


def told(surrounding: Surrounding) -> str:
    match surrounding:
        case Condition(Opaque(what, caught), _):
            return " ".join([what, *map(spell, caught)])
        case Condition(test, outcome, is_left):
            return f"{'passed' if is_left else 'if'} {'' if outcome else 'not '}{spell(test)}"
        case LoopOver(target, source):
            return f"for {spell(target)} in {spell(source)}"
        case Managed(manager):
            return f"with {spell(manager)}"


@pytest.mark.parametrize(
    ("text", "around"),
    [
        pytest.param("use()", [], id="nothing"),
        pytest.param("if a:\n    use()", ["if a"], id="an arm"),
        pytest.param("if a:\n    b\nelif c:\n    use()", ["if not a", "if c"], id="the other arm"),
        pytest.param("if a:\n    exit()\nuse()", ["passed not a"], id="what another arm has left"),
        pytest.param("for k in b:\n    if a:\n        continue\nuse()", [], id="nothing behind the loop"),
        pytest.param("for k, v in b:\n    use()", ["for (k, v) in b"], id="a loop"),
        pytest.param("try:\n    b\nexcept E:\n    use()", ["ExceptHandler E"], id="a handler"),
        pytest.param("try:\n    b\nfinally:\n    use()", [], id="nothing around what always runs"),
        pytest.param("match b:\n    case 1:\n        use()", ["match_case"], id="a case"),
        pytest.param("with b() as c:\n    use()", ["with b()"], id="a context"),
        pytest.param("if a:\n    class C:\n        use()", ["if a"], id="the body of a class"),
        pytest.param("if a:\n    def f():\n        if b:\n            use()", ["if a", "if b"], id="a definition"),
    ],
)
def test_step_knows_what_decides_over_it(text: str, around: list[str]) -> None:
    assert around_of_use(text) == around


@pytest.mark.parametrize(
    "text",
    [
        *("f'{f(x)}'", "{k: f(k) for k in x}", "[f(k) for k in x]", "lambda: f(x)", "(y := f(x))", "f(x)[1:]"),
        *("return_ = a and f(x)", "a if f(x) else b", "del y[f(x)]", "assert f(x)", "raise f(x)", "y[f(x)] = 1"),
        *("async def g():\n    await f(x)", "def g():\n    yield f(x)", "while f(x):\n    pass", "y += f(x)"),
        *("class C(f(x)):\n    pass", "@f(x)\ndef g(): ...", "with f(x):\n    pass", "match f(x):\n    case _: ..."),
    ],
)
def test_every_call_is_part_of_a_step_and_has_its_place(text: str) -> None:
    trace = read_trace(text.encode())

    (call,) = (call for call in trace.calls() if dotted(call.func) == "f")

    line = text.splitlines()[trace.lowering.span(call).line - 1]
    assert line[trace.lowering.span(call).column - 1 : trace.lowering.span(call).end_column - 1] in {"f(x)", "f(k)"}


def test_place_of_a_keyword_holds_its_name() -> None:
    trace = read_trace(b"use(1, env=x)\n")
    (call,) = trace.calls()

    assert trace.source.text_at(trace.lowering.span(call.keywords[0])) == "env=x"


def test_expression_is_lowered_when_it_is_asked_for_and_once() -> None:
    (first, second) = read_trace(b"use(1)\nf(2)\n").module.steps

    assert first.value is first.value
    assert first.value == Call(Name("use"), (Const(1),), ())
    assert second.line == 2
