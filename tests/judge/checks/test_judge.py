"""The judgement: outcomes from the history alone, and nothing unproven that passes."""

import dataclasses

import pytest

from conformance.history.history import History
from conformance.history.records import CheckpointEnd, Expect, OperatorEventKind, Step
from conformance.judge.case import Case
from conformance.judge.checks import validity
from conformance.judge.verdict import CHECKERS, judge, outcomes
from conformance.model.transition import (
    ChangeKind,
    Transition,
    add_multinode,
    annotate,
    no_op,
    remove_multinode,
)
from conformance.model.verdict import CheckerName, Outcome, Verdict
from tests.builders import (
    HistoryBuilder,
    a_graph,
    denied,
    dgd,
    settled,
    swapped,
)

SINGLE, MULTI = a_graph(), a_graph(node_count=2)
ADD = add_multinode("Worker")
REFUSAL = denied("spec.components[Worker].multinode: cannot change node topology")


def reconciled(*, end: CheckpointEnd = CheckpointEnd.HELD, **options: object) -> HistoryBuilder:
    h = HistoryBuilder()
    h.operator(OperatorEventKind.READY)
    h.deployed(SINGLE)
    h.wait(3)
    h.step(ADD, SINGLE)
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI, end=end, **options)  # type: ignore[arg-type]
    return h


def refused(**options: object) -> HistoryBuilder:
    h = HistoryBuilder()
    h.operator(OperatorEventKind.READY)
    h.deployed(SINGLE)
    h.wait(5)
    h.step(ADD, SINGLE, code=403, answer=REFUSAL, **options)  # type: ignore[arg-type]
    h.checkpoint(SINGLE)
    return h


def verdict(h: HistoryBuilder) -> Verdict:
    return judge(h.history()).verdict


def outcome(h: HistoryBuilder, step: str = "add-multinode-2") -> Outcome:
    return outcomes(Case(h.history()))[step]


def test_clean_toggle_conforms_with_every_checker_run() -> None:
    judgement = judge(reconciled().history())
    gating = [f"{f.checker}: {f.message}" for f in judgement.findings if f.gates]
    # The hand-written history has no fresh deploy to compare with.
    assert [text for text in gating if not text.startswith("equivalence")] == []
    assert {result.checker for result in judgement.results} == set(CheckerName)
    assert judgement.outcomes["add-multinode-2"] is Outcome.RECONCILED


def test_every_checker_is_registered() -> None:
    assert set(CHECKERS) == set(CheckerName)


# Outcomes --------------------------------------------------------------------------------------


def test_refusal_by_webhook_is_refused() -> None:
    assert outcome(refused()) is Outcome.REFUSED


def test_refusal_that_names_nothing_is_failed() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE, code=403, answer=denied("no"))
    h.checkpoint(SINGLE)
    assert outcome(h) is Outcome.FAILED


@pytest.mark.parametrize("code", [409, 500, 503, 404])
def test_other_errors_are_inconclusive(code: int) -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE, code=code, answer={"message": "failed calling webhook"})
    h.checkpoint(SINGLE)
    assert outcome(h) is Outcome.INCONCLUSIVE
    assert verdict(h) is Verdict.UNKNOWN


def test_accepted_change_with_the_old_generation_is_no_transition() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE, moved=False)
    h.checkpoint(SINGLE)
    assert outcome(h) is Outcome.INCONCLUSIVE
    assert verdict(h) is Verdict.UNKNOWN


@pytest.mark.parametrize("still", [no_op(), annotate("a", "b")])
def test_no_op_that_moves_the_generation_fails(still: Transition) -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(still, SINGLE, moved=True)
    h.update(dgd(SINGLE, generation=2), status=True)
    h.checkpoint(SINGLE)
    assert outcome(h, still.name) is Outcome.FAILED
    assert verdict(h) is Verdict.VIOLATES


def test_step_after_a_refusal_that_asks_for_nothing_is_not_applicable() -> None:
    h = refused()
    h.step(remove_multinode("Worker"), SINGLE, code=0, answer={"superseded": "refused"})
    h.checkpoint(SINGLE)
    assert outcome(h, "remove-multinode") is Outcome.NOT_APPLICABLE


def test_unsent_step_without_an_earlier_refusal_is_inconclusive() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(remove_multinode("Worker"), SINGLE, code=0)
    h.checkpoint(SINGLE)
    assert outcome(h, "remove-multinode") is Outcome.INCONCLUSIVE
    assert verdict(h) is Verdict.UNKNOWN


def test_case_whose_only_judged_step_is_moot_proves_nothing() -> None:
    h = refused()
    step = next(r for r in h.records if isinstance(r, Step) and r.name == "add-multinode-2")
    h.records[h.records.index(step)] = dataclasses.replace(step, judged=False)
    h.step(remove_multinode("Worker"), SINGLE, code=0, answer={"superseded": "refused"})
    h.checkpoint(SINGLE)
    assert verdict(h) is Verdict.UNKNOWN


def test_state_that_does_not_match_is_failed_whatever_the_driver_says() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    h.update(dgd(MULTI, generation=2), status=True)
    h.checkpoint(MULTI, end=CheckpointEnd.HELD)
    assert outcome(h) is Outcome.FAILED
    assert verdict(h) is Verdict.VIOLATES


def test_blocked_target_is_blocked_and_a_reached_one_reconciled() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE, expect=Expect.BLOCKED)
    stays = swapped(settled(SINGLE), dgd(MULTI, ready=False, generation=2, reason="NoGpu"))
    h.become(stays, after=0.5)
    h.checkpoint(MULTI, blocked=True)
    assert outcome(h) is Outcome.BLOCKED
    assert outcome(reconciled(blocked=True)) is Outcome.RECONCILED


def test_operator_steps_have_the_outcome_of_their_checkpoint() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    stop = Transition(
        name="kill operator",
        kinds=(ChangeKind.OPERATOR,),
        apply=lambda g: g,
        moves_generation=False,
    )
    h.step(stop, SINGLE, code=0)
    h.checkpoint(SINGLE)
    assert outcome(h, "kill operator") is Outcome.RECONCILED


# Nothing unproven passes -----------------------------------------------------------------------


def test_deadline_without_a_mismatch_never_conforms() -> None:
    assert verdict(reconciled(end=CheckpointEnd.DEADLINE)) is Verdict.UNKNOWN


def test_deadline_that_no_checker_explains_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.judge.verdict.CHECKERS", {
        CheckerName.SIZE: CHECKERS[CheckerName.SIZE],
        CheckerName.VALIDITY: CHECKERS[CheckerName.VALIDITY],
    })  # fmt: skip
    judgement = judge(reconciled(end=CheckpointEnd.DEADLINE).history())
    assert judgement.verdict is Verdict.UNKNOWN
    assert "no checker can say why" in judgement.findings[-1].message


def test_mismatch_whose_checker_is_silent_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    names = (CheckerName.COEXISTENCE, CheckerName.FIDELITY, CheckerName.VALIDITY)
    silent = dict.fromkeys(names, validity.check)
    monkeypatch.setattr("conformance.judge.verdict.CHECKERS", silent)
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    old = [r for r in settled(SINGLE) if r["kind"] == "Deployment" and "worker" in str(r)]
    h.become(settled(MULTI, generation=2) + old, after=0.5)
    h.checkpoint(MULTI, end=CheckpointEnd.DEADLINE)
    judgement = judge(h.history())
    assert judgement.verdict is Verdict.UNKNOWN
    assert "Deployment agg-worker" in judgement.findings[-1].message


def test_interrupted_checkpoint_is_unknown() -> None:
    assert verdict(reconciled(end=CheckpointEnd.INTERRUPTED)) is Verdict.UNKNOWN


def test_disagreement_of_list_and_record_is_unknown() -> None:
    result = validity.check(
        Case(reconciled(disagreed={"Pod": "Pod x is not in the record"}).history())
    )
    assert result.verdict is Verdict.UNKNOWN
    assert "Pod x is not in the record" in result.findings[0].message


def test_checkpoint_that_listed_nothing_is_unknown() -> None:
    assert validity.check(Case(reconciled(verified=()).history())).verdict is Verdict.UNKNOWN


def test_checkpoint_that_did_not_list_the_lws_is_unknown() -> None:
    kinds = ("DynamoGraphDeployment", "DynamoComponentDeployment", "Deployment", "Pod", "Service")
    result = validity.check(Case(reconciled(verified=kinds).history()))
    assert "LeaderWorkerSet was not listed" in result.findings[0].message


def test_case_without_a_judged_checkpoint_is_unknown() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    assert verdict(h) is Verdict.UNKNOWN


def test_judged_step_without_a_checkpoint_is_unknown() -> None:
    h = reconciled()
    h.step(remove_multinode("Worker"), MULTI)
    findings = validity.check(Case(h.history())).findings
    assert [finding.subject for finding in findings] == ["step/remove-multinode"]


def test_gap_in_a_judged_window_is_unknown() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(ADD, SINGLE)
    h.gap("ConfigMap")
    h.become(settled(MULTI, generation=2), after=0.5)
    h.checkpoint(MULTI)
    assert validity.check(Case(h.history())).verdict is Verdict.UNKNOWN


def test_history_with_nothing_but_a_header_is_unknown() -> None:
    h = HistoryBuilder()
    judgement = judge(History(h.records[:1]))
    assert judgement.verdict is Verdict.UNKNOWN


def test_crash_of_a_checker_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(history: History) -> None:
        raise KeyError("boom")

    monkeypatch.setattr("conformance.judge.verdict.CHECKERS", {CheckerName.SIZE: crash})
    judgement = judge(reconciled().history())
    assert judgement.verdict is Verdict.UNKNOWN
    assert "boom" in judgement.findings[0].message
