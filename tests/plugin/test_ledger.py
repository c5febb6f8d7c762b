"""Whose an event is."""

from triton_doctor.runtime.event import COMPILED, CompileEvent, CompileKey, KernelName
from triton_doctor.testing.ledger import Ledger


def compiled(value):
    return CompileEvent(
        kernel=KernelName(name="k", module="m", path="m.py", line=1),
        key=CompileKey(signature=(("N", "constexpr"),), constants=(("N", value),)),
        tier=COMPILED,
        stages_us=(),
        launch_site=None,
        device=0,
        thread=1,
        rank=None,
        at_ns=0,
    )


def values(events):
    return [event.key.constants[0][1] for event in events]


def test_fixture_inside_a_call_stands_aside_and_nested_fixtures_too():
    ledger = Ledger()
    with ledger.phase(own=True) as phase:
        ledger.events.append(compiled(1))
        with ledger.fixture():
            ledger.events.append(compiled(2))
            with ledger.fixture():
                ledger.events.append(compiled(3))
            ledger.events.append(compiled(4))
        ledger.events.append(compiled(5))

    assert values(phase.of_test(ledger.events)) == [1, 5]
    assert values(phase.aside(ledger.events)) == [2, 3, 4]


def test_what_happens_between_tests_is_outside():
    ledger = Ledger()
    ledger.events.append(compiled(1))
    for value in (2, 4):
        with ledger.phase(own=value == 2):
            ledger.events.append(compiled(value))
        ledger.events.append(compiled(value + 1))

    assert values(ledger.outside()) == [1, 3, 5]


def test_later_attempt_counts_what_the_first_left_in_memory_and_nothing_twice():
    ledger = Ledger()
    counted = []
    for attempt in ([1, 2], [3], [1, 2, 3, 3]):
        with ledger.phase(own=True) as phase:
            ledger.events += map(compiled, attempt)
        counted.append(values(ledger.of_test("test", phase)))

    assert counted == [[1, 2], [1, 2, 3], [1, 2, 3, 3]]
