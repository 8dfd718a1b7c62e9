"""Kinds that the suite may not see: nothing is concluded of them, and it is said once."""

import dataclasses

import pytest

from conformance.history.history import History
from conformance.history.records import Checkpoint, CheckpointEnd, OperatorEventKind, Scope, Unseen
from conformance.judge.doubts import needed
from conformance.judge.verdict import judge
from conformance.model.children import Gang
from conformance.model.transition import add_multinode
from conformance.model.verdict import CheckerName, Outcome, Verdict
from tests.builders import HistoryBuilder, a_graph, a_profile, settled

SINGLE, MULTI = a_graph(), a_graph(node_count=2)


def mark(kind: str, group: str = "") -> Unseen:
    return Unseen(
        at=1000.0, kind=kind, group=group, resource=f"{kind.lower()}s", reason="forbidden"
    )


LWS = mark("LeaderWorkerSet", "leaderworkerset.x-k8s.io")
SECRET = mark("Secret")


def toggled(*marks: Unseen, blind: bool = False) -> History:
    """A clean change to several nodes; `blind` leaves the LeaderWorkerSet out of the record."""
    h = HistoryBuilder()
    h.operator(OperatorEventKind.READY)
    h.deployed(SINGLE)
    h.wait(3)
    h.step(add_multinode("Worker"), SINGLE)
    state = settled(MULTI, generation=2)
    h.become([raw for raw in state if not blind or raw["kind"] != "LeaderWorkerSet"], after=0.5)
    h.checkpoint(MULTI)
    history = h.history()
    return History([*history.records, *marks])


def test_a_kind_that_no_checker_reads_changes_no_verdict() -> None:
    with_secret, without_mark = judge(toggled(SECRET)), judge(toggled())
    assert [r.verdict for r in with_secret.results] == [r.verdict for r in without_mark.results]
    assert with_secret.findings == without_mark.findings


@pytest.mark.parametrize("blind", [False, True])
def test_a_needed_kind_makes_every_checker_of_objects_unknown_and_is_told_once(
    blind: bool,
) -> None:
    judgement = judge(toggled(LWS, SECRET, blind=blind))
    assert judgement.verdict is Verdict.UNKNOWN
    for result in judgement.results:
        if result.checker not in (CheckerName.OPERATOR_HEALTH, CheckerName.VALIDITY):
            assert result.verdict is Verdict.UNKNOWN, result.checker
            assert result.findings == ()
    assert judgement.result(CheckerName.OPERATOR_HEALTH).verdict is Verdict.CONFORMS
    (finding,) = [finding for finding in judgement.findings if finding.gates]
    assert finding.checker is CheckerName.VALIDITY
    assert finding.message.startswith("LeaderWorkerSet may not be seen by the suite (forbidden)")
    assert set(judgement.outcomes.values()) == {Outcome.INCONCLUSIVE}


def test_without_the_mark_the_same_record_would_accuse_the_operator() -> None:
    assert judge(toggled(blind=True)).verdict is Verdict.VIOLATES


def test_which_kinds_are_needed_depends_on_the_operator() -> None:
    gang = mark("PodGroup", "scheduling.volcano.sh")
    plain, ganged = a_profile(gang=Gang.NONE), a_profile(gang=Gang.PER_GROUP)
    assert needed(plain, [gang, SECRET]) == []
    assert needed(ganged, [gang, SECRET]) == [gang]
    # The same kind of another group is another kind.
    assert needed(ganged, [mark("Service", "serving.knative.dev")]) == []
    assert needed(ganged, [mark("Service"), mark("Service")]) == [mark("Service")]


def test_the_end_of_a_run_says_once_which_left_overs_cannot_be_told() -> None:
    header = dataclasses.replace(toggled().header, scope=Scope.RUN)
    end = Checkpoint(
        name="end", at=2000.0, since=1990.0, end=CheckpointEnd.HELD, revision=200, graphs=()
    )
    clean = judge(History([header, end]))
    assert clean.verdict is Verdict.CONFORMS
    judgement = judge(History([header, end, SECRET, LWS]))
    (finding,) = judgement.findings
    assert finding.verdict is Verdict.UNKNOWN
    assert finding.message.startswith("LeaderWorkerSet, Secret may not be seen by the suite")
