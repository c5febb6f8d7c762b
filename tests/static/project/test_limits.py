"""The one rule for cycles and depth: what an evaluation gives that leads to itself, or too far."""

from __future__ import annotations

from triton_doctor.static.project.limits import MOST_NAMES, Evaluations


def test_question_that_leads_to_itself_gets_the_neutral_answer() -> None:
    evaluations = Evaluations()

    def ask() -> int:
        return 1 + evaluations.evaluate("a", ask, on_cycle=10, beyond_limit=0)

    assert evaluations.evaluate("a", ask, on_cycle=10, beyond_limit=0) == 11


def test_answer_that_rests_on_no_cut_is_kept() -> None:
    evaluations, asked = Evaluations(), []

    def ask() -> str:
        asked.append("a")
        return "found"

    answers = [evaluations.evaluate("a", ask, on_cycle="", beyond_limit="") for _ in range(2)]

    assert (answers, asked) == (["found", "found"], ["a"])


def test_answer_that_led_back_to_a_waiting_question_is_asked_again() -> None:
    evaluations, asked = Evaluations(), []

    def ask_a() -> int:
        asked.append("a")
        return 1 + evaluations.evaluate("b", ask_b, on_cycle=0, beyond_limit=0)

    def ask_b() -> int:
        asked.append("b")
        return 10 + evaluations.evaluate("a", ask_a, on_cycle=0, beyond_limit=0)

    answers = [evaluations.evaluate(key, ask, on_cycle=0, beyond_limit=0) for key, ask in (("a", ask_a), ("b", ask_b))]

    assert (answers, asked) == ([11, 21], ["a", "b", "b"])


def test_answer_that_led_back_to_itself_alone_is_kept() -> None:
    evaluations, asked = Evaluations(), []

    def ask() -> int:
        asked.append("a")
        return 1 + evaluations.evaluate("a", ask, on_cycle=10, beyond_limit=0)

    answers = [evaluations.evaluate("a", ask, on_cycle=10, beyond_limit=0) for _ in range(2)]

    assert (answers, asked) == ([11, 11], ["a"])


def test_chain_of_questions_ends_at_the_limit() -> None:
    evaluations = Evaluations()

    def count(steps: int) -> int:
        return 1 + evaluations.evaluate(steps, lambda: count(steps + 1), on_cycle=0, beyond_limit=0)

    assert count(0) == MOST_NAMES + 1


def test_evaluation_that_fails_leaves_its_question_open() -> None:
    evaluations = Evaluations()

    def fail() -> int:
        raise RecursionError

    for _ in range(2):
        try:
            evaluations.guard("a", fail, None)
        except RecursionError:
            continue
        raise AssertionError("the question was answered")
