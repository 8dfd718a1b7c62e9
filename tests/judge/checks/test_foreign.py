"""Foreign objects and untouched graphs on histories written by hand."""

import pytest

from conformance.history.history import History
from conformance.history.records import Event
from conformance.judge.case import Case
from conformance.judge.checks.foreign import check
from conformance.model.transition import add_multinode, scale
from conformance.model.verdict import Verdict
from tests.builders import (
    OPERATOR,
    PLATFORM,
    STRANGER,
    SUITE,
    HistoryBuilder,
    Raw,
    a_graph,
    deploy,
    edited,
    made,
    settled,
)
from tests.judge.checks.reading import gating, only, reported

BEFORE, AFTER = a_graph(), a_graph(node_count=2)
OTHERS = made("Service", "agg-worker-d", spec={"selector": {"a": "b"}}, labels={"mine": "yes"})


def with_foreign() -> HistoryBuilder:
    h = HistoryBuilder()
    h.foreign(OTHERS)
    h.deployed(BEFORE)
    h.step(add_multinode("Worker"), BEFORE)
    h.become([*settled(AFTER, generation=2), OTHERS], after=0.5)
    return h


def live(h: HistoryBuilder) -> Raw:
    return h.live("Service", "agg-worker-d")


def test_an_untouched_foreign_object_conforms() -> None:
    h = with_foreign()
    h.checkpoint(AFTER)
    result = check(Case(h.history()))
    assert result.verdict is Verdict.CONFORMS
    assert result.looked_at == 1


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (("spec", "selector", "a"), "c", "spec"),
        (("metadata", "labels", "mine"), "no", "labels"),
        (("metadata", "annotations", "x"), "y", "annotations"),
        (("metadata", "ownerReferences"), [{"uid": "u", "kind": "K", "name": "n"}], "owners"),
        (("metadata", "finalizers"), ["f"], "finalizers"),
    ],
)
def test_an_object_of_others_changed_by_the_operator_violates(
    path: tuple[str, ...], value: object, what: str
) -> None:
    h = with_foreign()
    h.update(edited(live(h), *path, to=value), by=OPERATOR)
    h.checkpoint(AFTER)
    finding = only(check(Case(h.history())), Verdict.VIOLATES)
    assert finding.subject == "Service/agg-worker-d"
    assert finding.message == (
        f"The operator changed the {what} of Service agg-worker-d, which belongs to somebody else "
        "and was there before"
    )


@pytest.mark.parametrize(("code", "gates"), [(422, True), (409, False)])
def test_a_write_that_only_validation_kept_from_an_object_of_others_violates(
    code: int, gates: bool
) -> None:
    """Seen: a build updates whatever Deployment has its child's name; the selector, which may not
    change, was all that saved one."""
    h = with_foreign()
    for _ in range(3):
        h.wait(0.5)
        h.write(live(h), "update", by=OPERATOR, code=code)
    h.checkpoint(AFTER)
    found = gating(check(Case(h.history())))
    assert bool(found) is gates
    if gates:
        assert "tried to update Service agg-worker-d 3 times" in found[0].message


def test_an_object_of_others_deleted_by_the_operator_violates() -> None:
    h = with_foreign()
    h.delete(live(h), by=OPERATOR)
    h.checkpoint(AFTER)
    assert (
        "deleted Service agg-worker-d" in only(check(Case(h.history())), Verdict.VIOLATES).message
    )


def test_an_object_that_was_adopted_and_then_collected_violates_twice() -> None:
    h = with_foreign()
    owners = [{"uid": "u", "kind": "DynamoComponentDeployment", "name": "agg-worker"}]
    h.update(edited(live(h), "metadata", "ownerReferences", to=owners), by=OPERATOR)
    h.wait(2.0)
    h.delete(live(h), by=PLATFORM)
    h.checkpoint(AFTER)
    assert [f.verdict for f in gating(check(Case(h.history())))] == [Verdict.VIOLATES] * 2


def test_a_foreign_status_and_the_suites_own_edits_do_not_matter() -> None:
    h = with_foreign()
    h.update(edited(live(h), "status", "x", to="y"), by=OPERATOR, status=True)
    h.wait(2.0)
    h.update(edited(live(h), "metadata", "labels", "mine", to="still"), by=SUITE)
    h.checkpoint(AFTER)
    assert gating(check(Case(h.history()))) == []


def test_fields_that_the_platform_keeps_are_reported_only() -> None:
    h = with_foreign()
    h.update(edited(live(h), "metadata", "finalizers", to=["service.kubernetes.io/x"]), by=PLATFORM)
    h.checkpoint(AFTER)
    result = check(Case(h.history()))
    assert gating(result) == []
    assert "Kubernetes changed the finalizers" in reported(result)[0].message


def test_a_stranger_in_the_log_makes_it_unknown() -> None:
    h = with_foreign()
    h.update(edited(live(h), "spec", "selector", "a", to="c"), by=STRANGER)
    h.checkpoint(AFTER)
    assert only(check(Case(h.history())), Verdict.UNKNOWN)


def test_a_foreign_object_that_was_never_recorded_is_unknown() -> None:
    h = with_foreign()
    h.checkpoint(AFTER)
    uid = OTHERS["metadata"]["uid"]
    records = [r for r in h.records if not (isinstance(r, Event) and r.obj.uid == uid)]
    assert "never recorded" in only(check(Case(History(records))), Verdict.UNKNOWN).message


def test_a_gap_makes_untouched_unknown() -> None:
    h = with_foreign()
    h.gap("Service")
    h.checkpoint(AFTER)
    assert "gap" in only(check(Case(h.history())), Verdict.UNKNOWN).message


def test_without_foreign_objects_or_siblings_it_does_not_apply() -> None:
    h = HistoryBuilder()
    h.deployed(BEFORE)
    h.step(scale("Worker", to=2), BEFORE)
    h.checkpoint(BEFORE)
    result = check(Case(h.history()))
    assert (result.verdict, result.looked_at) == (None, 0)


# Sibling graphs --------------------------------------------------------------------------------

SIBLING = a_graph("agg-b")


def with_sibling() -> HistoryBuilder:
    h = HistoryBuilder()
    h.step(deploy(BEFORE), None, judged=False)
    h.step(deploy(SIBLING), None, judged=False)
    h.become([*settled(BEFORE), *settled(SIBLING)], after=0.5)
    h.checkpoint(BEFORE, SIBLING, judged=False)
    h.step(add_multinode("Worker"), BEFORE)
    h.become([*settled(AFTER, generation=2), *settled(SIBLING)], after=0.5)
    return h


def test_a_sibling_that_keeps_its_children_conforms() -> None:
    h = with_sibling()
    h.checkpoint(AFTER, SIBLING)
    assert check(Case(h.history())).verdict is Verdict.CONFORMS


def test_a_siblings_child_that_the_operator_deleted_violates() -> None:
    h = with_sibling()
    h.delete(h.live("Service", "agg-b-worker"), by=OPERATOR)
    h.checkpoint(AFTER, SIBLING)
    finding = only(check(Case(h.history())), Verdict.VIOLATES)
    assert finding.graph == "agg-b"
    assert "Service agg-b-worker of graph agg-b is gone" in finding.message
    assert "the operator wrote Service agg-b-worker (deleted)" in finding.message


def test_a_siblings_child_with_another_spec_violates() -> None:
    h = with_sibling()
    h.update(
        edited(h.live("Service", "agg-b-worker"), "spec", "selector", "x", to="y"), by=OPERATOR
    )
    h.checkpoint(AFTER, SIBLING)
    assert "has another spec" in only(check(Case(h.history())), Verdict.VIOLATES).message


def test_a_siblings_pod_that_the_platform_lost_is_unknown() -> None:
    h = with_sibling()
    pod = next(
        raw for raw in h.objects.values()
        if raw["kind"] == "Pod" and raw["metadata"]["name"].startswith("agg-b-worker")
    )  # fmt: skip
    h.delete(pod, by=PLATFORM)
    h.checkpoint(AFTER, SIBLING)
    assert "nobody but the platform" in only(check(Case(h.history())), Verdict.UNKNOWN).message


def test_a_graph_that_a_step_changes_is_no_sibling() -> None:
    h = with_sibling()
    h.step(scale("Worker", to=2), SIBLING)
    h.delete(h.live("Service", "agg-b-worker"), by=OPERATOR)
    h.checkpoint(AFTER, scale("Worker", to=2).apply(SIBLING))
    assert check(Case(h.history())).looked_at == 0
