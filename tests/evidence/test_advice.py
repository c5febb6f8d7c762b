"""Each cause of a compile has something to do about it, or a reason why not; each rule that is named has a page."""

from dataclasses import replace

from tests.evidence.recorded import compile_event, process, tuning_event
from triton_doctor.evidence import advise, rules_behind
from triton_doctor.rulebook import page_paths
from triton_doctor.runtime.account import account
from triton_doctor.runtime.causes import FIRST, PRECEDENCE
from triton_doctor.runtime.recording import Recording
from triton_doctor.runtime.remedies import REMEDIES

# Another device compiles its own; the first compile is no recompile.
NOTHING_TO_CHANGE = {"TRD709", FIRST}


def test_each_cause_has_a_remedy():
    assert REMEDIES.keys() == set(PRECEDENCE)
    assert {cause for cause, remedy in REMEDIES.items() if remedy.change is None} == NOTHING_TO_CHANGE


def test_rules_that_are_named_have_pages():
    assert {code for cause in REMEDIES for code in rules_behind(cause)} <= page_paths().keys()
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
