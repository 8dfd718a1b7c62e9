"""The user's own graph stays the user's."""

import dataclasses

import pytest

from conformance.history.records import Step
from conformance.judge.case import Case
from conformance.judge.checks.fidelity import check
from conformance.model.graph import Graph
from conformance.model.transition import ChangeKind, Transition, add_multinode, annotate
from conformance.model.verdict import Verdict
from tests.builders import (
    OPERATOR,
    STRANGER,
    SUITE,
    HistoryBuilder,
    Raw,
    a_graph,
    edited,
    find,
    settled,
)
from tests.judge.checks.reading import gating, only

SINGLE, MULTI = a_graph(), a_graph(node_count=2)
NOTE = {"example.com/note": "mine"}
NOTED = SINGLE.replace(annotations=NOTE)
KIND = "DynamoGraphDeployment"


def toggled() -> HistoryBuilder:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(add_multinode("Worker"), SINGLE)
    h.become(settled(MULTI, generation=2), after=0.5)
    return h


def reverted(h: HistoryBuilder) -> Raw:
    """The graph as it was before, with groups taken out again; its status is of no generation."""
    old = edited(h.live(KIND, "agg"), "spec", to=find(settled(SINGLE), KIND, "agg")["spec"])
    old["status"].pop("observedGeneration", None)
    old["metadata"]["generation"] = 3
    return old


def noted(*, wait: float = 2.0) -> HistoryBuilder:
    """The user's annotation has come to the graph."""
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(annotate("example.com/note", "mine"), SINGLE)
    h.update(edited(h.live(KIND, "agg"), "metadata", "annotations", to=NOTE), by=SUITE)
    step = h.records[-3]
    assert isinstance(step, Step)
    # The answer to the request names the revision that it made.
    h.records[-3] = dataclasses.replace(step, revision_after=h.revision)
    h.wait(wait)
    return h


def judged(h: HistoryBuilder, graph: Graph) -> HistoryBuilder:
    h.checkpoint(graph)
    return h


def test_a_spec_that_the_operator_takes_back_violates() -> None:
    h = toggled()
    h.wait(2.0)
    h.update(reverted(h), by=OPERATOR)
    finding = only(check(Case(judged(h, MULTI).history())), Verdict.VIOLATES)
    assert finding.message.startswith("The operator rewrote DGD agg, which is the user's, 2.")
    assert finding.message.endswith("number of nodes of worker is 1, not 2")


def test_somebody_else_who_rewrites_the_graph_proves_nothing() -> None:
    h = toggled()
    h.wait(2.0)
    h.update(reverted(h), by=STRANGER)
    assert only(check(Case(judged(h, MULTI).history())), Verdict.UNKNOWN)


@pytest.mark.parametrize("wait", [2.0, 0.05], ids=["later", "right after the suite's own write"])
def test_an_annotation_of_the_users_stays(wait: float) -> None:
    h = noted(wait=wait)
    h.update(edited(h.live(KIND, "agg"), "metadata", "annotations", to=None), by=OPERATOR)
    finding = only(check(Case(judged(h, NOTED).history())), Verdict.VIOLATES)
    assert "The operator rewrote DGD agg" in finding.message
    assert "annotation example.com/note is missing, not 'mine'" in finding.message


def test_a_webhook_that_drops_what_the_suite_wrote_is_seen_in_what_is_stored() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(annotate("example.com/note", "mine"), SINGLE)
    finding = only(check(Case(judged(h, NOTED).history())), Verdict.VIOLATES)
    assert "is no longer what the user wrote" in finding.message


def test_what_the_operator_adds_and_changes_of_its_own_is_its_affair() -> None:
    h = noted()
    for value in ("1", "2"):
        graph = h.live(KIND, "agg")
        mine = {**NOTE, "operator.example.org/hash": value, "nvidia.com/restart": value}
        graph = edited(graph, "metadata", "annotations", to=mine)
        h.update(edited(graph, "metadata", "finalizers", to=["nvidia.com/f"]), by=OPERATOR)
    assert gating(check(Case(judged(h, NOTED).history()))) == []


def test_defaults_that_the_operator_writes_are_no_other_wish() -> None:
    h = HistoryBuilder()
    graph = a_graph(replicas=None)
    h.deployed(graph)
    h.step(annotate("example.com/note", "mine"), graph)
    live = edited(h.live(KIND, "agg"), "metadata", "annotations", to=NOTE)
    live["spec"]["components"][1] |= {"replicas": 1, "multinode": {"nodeCount": 1}}
    h.update(live, by=OPERATOR)
    assert gating(check(Case(judged(h, graph.replace(annotations=NOTE)).history()))) == []


def test_a_refused_change_leaves_the_graph_as_it_was() -> None:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    answer = {"status": "Failure", "reason": "Forbidden", "code": 403,
              "message": 'admission webhook "v.kb.io" denied the request: spec.multinode'}  # fmt: skip
    h.step(add_multinode("Worker"), SINGLE, code=403, answer=answer)
    h.checkpoint(SINGLE)
    assert gating(check(Case(h.history()))) == []
    h.step(add_multinode("Worker"), SINGLE, code=403, answer=answer)
    h.wait(2.0)
    live = h.live(KIND, "agg")
    live["spec"] = find(settled(MULTI), KIND, "agg")["spec"]
    h.update(live, by=OPERATOR)
    h.checkpoint(SINGLE)
    assert only(check(Case(h.history())), Verdict.VIOLATES).subject == f"{KIND}/agg"


def test_an_illegal_edit_that_was_accepted_is_in_the_graph_and_in_no_wish() -> None:
    """The suite asked for one node, and sent a number that no schema should have allowed."""
    h = HistoryBuilder()
    h.deployed(SINGLE)
    kinds = (ChangeKind.ANNOTATION, ChangeKind.ILLEGAL)
    h.step(Transition(name="illegal", kinds=kinds, apply=lambda g: g), SINGLE)
    live = h.live(KIND, "agg")
    live["spec"]["components"][1]["replicas"] = -1
    h.update(live, by=SUITE)
    h.checkpoint(SINGLE)
    assert gating(check(Case(h.history()))) == []
