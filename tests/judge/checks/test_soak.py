"""The end of a run while graphs stand: what was at rest is still as it was, and nobody touched it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.history.history import History
from conformance.history.records import (
    Checkpoint,
    CheckpointEnd,
    Event,
    Gap,
    OperatorEvent,
    OperatorEventKind,
    Record,
    Scope,
    Soak,
    Write,
)
from conformance.judge.case import Case
from conformance.judge.verdict import Judgement, judge
from conformance.model.exemptions import Retained
from conformance.model.transition import add_multinode
from conformance.model.verdict import CheckerName, Finding, Verdict
from conformance.record.run_record import case_begins, case_conforms, read_endings
from tests.builders import (
    OPERATOR,
    PLATFORM,
    STRANGER,
    HistoryBuilder,
    a_graph,
    a_profile,
    deletion,
    edited,
    find,
    made,
    settled,
)

SINGLE, MULTI = a_graph(), a_graph(node_count=2)


@pytest.fixture
def end(tmp_path: Path) -> Callable[[HistoryBuilder, int], Judgement]:
    """Judges the end of a run, of a case whose history is as it was after that many records; what
    came later happened after the case had ended."""

    def judged(h: HistoryBuilder, case: int) -> Judgement:
        ended = History(h.records[:case])
        namespace = ended.namespace
        case_begins(tmp_path, namespace)
        case_conforms(tmp_path, ended, others=Case(ended).others)
        later: list[Record] = [
            record
            for record in h.records[case:]
            if isinstance(record, Event | Write | Gap | OperatorEvent)
        ]
        last = Checkpoint(
            name="the end of the run", at=h.now, since=h.now, end=CheckpointEnd.HELD,
            revision=h.revision, graphs=(),
        )  # fmt: skip
        header = dataclasses.replace(ended.header, scope=Scope.SOAK, namespace="")
        return judge(History([header, *read_endings(tmp_path).records, *later, last]))

    return judged


def toggled(h: HistoryBuilder) -> int:
    """A case that added multinode and came to rest; how many records it has."""
    h.deployed(SINGLE)
    h.step(add_multinode("Worker"), SINGLE)
    h.become(settled(MULTI, h.profile, generation=2), after=0.5)
    h.checkpoint(MULTI)
    return len(h.records)


def gating(judgement: Judgement) -> dict[CheckerName, Finding]:
    return {finding.checker: finding for finding in judgement.findings if finding.gates}


Judge = Callable[[HistoryBuilder, int], Judgement]


def test_what_stays_as_it_was_conforms(end: Judge) -> None:
    h = HistoryBuilder()
    case = toggled(h)
    h.wait(60)
    judgement = end(h, case)
    assert judgement.verdict is Verdict.CONFORMS
    assert judgement.result(CheckerName.COEXISTENCE).looked_at == 1


def test_an_old_workload_that_comes_back_later_coexists_and_names_the_case(end: Judge) -> None:
    h = HistoryBuilder()
    case = toggled(h)
    h.wait(12)
    h.create(find(settled(SINGLE), "Deployment", "agg-worker"), by=OPERATOR)
    h.wait(60)
    found = gating(end(h, case))
    coexistence = found[CheckerName.COEXISTENCE]
    assert coexistence.verdict is Verdict.VIOLATES
    assert "Deployment agg-worker" in coexistence.message
    assert "created by the operator" in coexistence.message
    assert coexistence.message.endswith("after case add/worker had ended at rest)")
    assert found[CheckerName.QUIESCENCE].verdict is Verdict.VIOLATES
    assert found[CheckerName.QUIESCENCE].message.startswith(
        "Deployment agg-worker was written by the operator 12 s after case add/worker"
    )


def test_a_counted_write_that_leaves_all_well_violates_rest_alone(end: Judge) -> None:
    h = HistoryBuilder()
    case = toggled(h)
    h.wait(30)
    h.update(
        edited(h.live("Service", "agg-worker"), "metadata", "annotations", to={"a": "b"}),
        by=OPERATOR,
    )
    found = gating(end(h, case))
    assert list(found) == [CheckerName.QUIESCENCE]
    assert found[CheckerName.QUIESCENCE].verdict is Verdict.VIOLATES


def test_an_operator_that_was_just_started_may_look_at_everything_anew(end: Judge) -> None:
    for later, verdict in ((10.0, Verdict.CONFORMS), (40.0, Verdict.VIOLATES)):
        h = HistoryBuilder()
        case = toggled(h)
        h.wait(30)
        h.operator(OperatorEventKind.STARTED)
        h.wait(later)
        service = h.live("Service", "agg-worker")
        h.update(edited(service, "metadata", "annotations", to={"a": "b"}), by=OPERATOR)
        assert end(h, case).verdict is verdict


def test_what_the_platform_or_a_status_writes_does_not_count(end: Judge) -> None:
    h = HistoryBuilder()
    case = toggled(h)
    h.wait(30)
    service = h.live("Service", "agg-worker")
    h.update(edited(service, "metadata", "annotations", to={"a": "b"}), by=PLATFORM)
    graph = h.live("DynamoGraphDeployment", "agg")
    h.update({**graph, "status": {**graph["status"], "beat": 2}}, by=OPERATOR, status=True)
    found = gating(end(h, case))
    # That Kubernetes should annotate a Service is odd, and proves nothing against the operator.
    assert Verdict.VIOLATES not in {finding.verdict for finding in found.values()}


def test_a_write_by_nobody_known_is_unknown(end: Judge) -> None:
    h = HistoryBuilder()
    case = toggled(h)
    h.wait(30)
    lws = h.live("LeaderWorkerSet", "agg-worker-0")
    h.update(edited(lws, "metadata", "annotations", to={"a": "b"}), by=STRANGER)
    found = gating(end(h, case))
    assert found[CheckerName.QUIESCENCE].verdict is Verdict.UNKNOWN


def test_a_keeper_may_come_and_go_at_any_time(end: Judge) -> None:
    profile = a_profile()
    kept = profile.model_copy(
        update={"retained": [Retained(kind="ConfigMap", name="cache-*", reason="a cache")]}
    )
    for given, verdict in ((kept, Verdict.CONFORMS), (profile, Verdict.VIOLATES)):
        h = HistoryBuilder(given)
        case = toggled(h)
        h.wait(30)
        h.create(made("ConfigMap", "cache-1"), by=OPERATOR)
        assert end(h, case).verdict is verdict


def test_a_graph_that_is_gone_without_being_asked_is_missed(end: Judge) -> None:
    h = HistoryBuilder()
    case = toggled(h)
    h.wait(30)
    h.delete(*list(h.objects.values())[2:], by=OPERATOR)
    assert end(h, case).verdict is Verdict.VIOLATES


def test_the_namespace_of_a_deleted_graph_stays_empty(end: Judge) -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(deletion(SINGLE), SINGLE)
    h.become([], after=0.5)
    h.checkpoint()
    case = len(h.records)
    h.wait(30)
    assert end(h, case).verdict is Verdict.CONFORMS
    h.create(find(settled(SINGLE), "Deployment", "agg-worker"), by=OPERATOR)
    assert end(h, case).verdict is Verdict.VIOLATES


def test_a_gap_after_the_cases_is_no_proof_of_rest(end: Judge) -> None:
    h = HistoryBuilder()
    case = toggled(h)
    h.wait(30)
    h.gap()
    judgement = end(h, case)
    assert judgement.verdict is Verdict.UNKNOWN
    assert list(gating(judgement)) == [CheckerName.QUIESCENCE]


def test_a_case_that_went_on_after_its_last_checkpoint_leaves_nothing_to_look_at(
    tmp_path: Path,
) -> None:
    h = HistoryBuilder()
    toggled(h)
    h.wait(1)
    h.step(add_multinode("Frontend"), MULTI)
    history = h.history()
    case_begins(tmp_path, history.namespace)
    case_conforms(tmp_path, history, others=())
    notes = read_endings(tmp_path)
    assert notes.failed == frozenset()
    assert notes.soaks == []


def test_no_case_at_rest_is_no_pass() -> None:
    header = dataclasses.replace(HistoryBuilder().history().header, scope=Scope.SOAK)
    last = Checkpoint(name="end", at=2.0, since=1.0, end=CheckpointEnd.HELD, revision=1, graphs=())
    assert judge(History([header, last])).verdict is Verdict.UNKNOWN
    stands = Soak(case="a", namespace="ns", at=1.0, revision=1, graphs=())
    assert judge(History([header, stands, last])).verdict is Verdict.CONFORMS
