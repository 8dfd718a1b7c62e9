"""Refusals, doors and promises on histories written by hand."""

from typing import Any

import pytest

from conformance.history.history import History
from conformance.history.records import Event, Expect, OperatorEventKind
from conformance.judge.case import Case
from conformance.judge.checks.refusal import check, promise_findings
from conformance.model.profile import Profile
from conformance.model.transition import (
    ChangeKind,
    Transition,
    add_multinode,
    remove_multinode,
    scale,
    set_image,
    together,
)
from conformance.model.verdict import Verdict
from tests.builders import (
    OPERATOR,
    PLATFORM,
    STRANGER,
    SUITE,
    HistoryBuilder,
    Raw,
    a_graph,
    a_profile,
    denied,
    edited,
    made,
    settled,
)
from tests.judge.checks.reading import gating, only, reported

BEFORE, AFTER = a_graph(), a_graph(node_count=2)
ADD = add_multinode("Worker")
NO = denied("spec.services[Worker] cannot change node topology after creation")


def refused(
    transition: Transition = ADD, *, answer: Raw = NO, code: int = 403, profile: Any = None,
    expect: Expect = Expect.PROMISE, judged: bool = False,
) -> HistoryBuilder:  # fmt: skip
    """A settled graph whose change was refused; the checkpoint is still to come."""
    h = HistoryBuilder(profile)
    h.deployed(BEFORE, judged=judged)
    h.wait(1.0)
    h.step(transition, BEFORE, code=code, answer=answer, expect=expect)
    return h


def promising(**promises: str) -> Profile:
    return a_profile(promises=promises)


def test_a_clean_refusal_conforms() -> None:
    h = refused()
    h.checkpoint(BEFORE)
    result = check(Case(h.history()))
    assert result.verdict is Verdict.CONFORMS
    assert result.findings == ()


def test_a_refusal_that_names_nothing_violates() -> None:
    h = refused(answer=denied("this change is not allowed"))
    h.checkpoint(BEFORE)
    finding = only(check(Case(h.history())), Verdict.VIOLATES)
    assert "names neither the field nor the service" in finding.message


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("cannot change service Worker", []),
        ("spec.components[1].multinode: Forbidden", []),
        ("topology is frozen", ["topology is (frozen|immutable)"]),
    ],
)
def test_naming_the_service_the_field_or_the_profiles_words_is_enough(
    message: str, words: list[str]
) -> None:
    h = refused(answer=denied(message), profile=a_profile(refusal_words=words))
    h.checkpoint(BEFORE)
    assert gating(check(Case(h.history()))) == []


# Nothing moved ---------------------------------------------------------------------------------


def test_a_refusal_after_which_the_children_change_violates() -> None:
    h = refused()
    h.become(settled(AFTER), after=0.4)
    h.checkpoint(BEFORE)
    finding = only(check(Case(h.history())), Verdict.VIOLATES)
    assert finding.message.startswith(
        "add-multinode-2 of service Worker of graph agg through merge-patch-v1beta1 was refused "
        "(HTTP 403), yet "
    )
    assert "the first 0.4 s after the request" in finding.message


@pytest.mark.parametrize("act", ["create", "delete", "spec", "labels", "event"])
def test_any_move_by_the_operator_violates(act: str) -> None:
    h = refused()
    service = h.live("Service", "agg-worker")
    if act == "create":
        h.create(made("PodGroup", "agg-worker-0"), by=OPERATOR)
    elif act == "delete":
        h.delete(service, by=OPERATOR)
    elif act == "spec":
        h.update(edited(service, "spec", "selector", "role", to="leader"), by=OPERATOR)
    elif act == "labels":
        h.update(edited(service, "metadata", "labels", "x", to="y"), by=OPERATOR)
    else:
        h.create(made("Event", "agg.1") | {"reason": "Refused"}, by=OPERATOR)
    h.checkpoint(BEFORE)
    assert only(check(Case(h.history())), Verdict.VIOLATES)


def test_a_moved_graph_violates() -> None:
    h = refused()
    graph = edited(h.live("DynamoGraphDeployment", "agg"), "metadata", "generation", to=2)
    h.update(edited(graph, "spec", "backendFramework", to="sglang"), by=OPERATOR)
    h.checkpoint(BEFORE)
    finding = only(check(Case(h.history())), Verdict.VIOLATES)
    assert finding.subject == "DynamoGraphDeployment/agg"


def test_an_old_event_that_arrives_late_does_not_count() -> None:
    h = refused()
    event = made("Event", "agg.1") | {"lastTimestamp": "1970-01-01T00:16:40Z", "reason": "Created"}
    assert h.now > 1001.0
    h.create(event, by=OPERATOR)
    h.checkpoint(BEFORE)
    assert gating(check(Case(h.history()))) == []


@pytest.mark.parametrize(("restarted", "gates"), [(True, False), (False, True)])
def test_what_a_restarted_operator_tells_of_is_no_move(restarted: bool, gates: bool) -> None:
    """Seen: killed and started again after a refusal, a build said of each child that it skips it."""
    h = refused()
    if restarted:
        h.operator(OperatorEventKind.KILLED)
        h.operator(OperatorEventKind.STARTED)
    h.wait(0.5)
    h.create(made("Event", "agg.1") | {"reason": "Skipped"}, by=OPERATOR)
    h.checkpoint(BEFORE)
    assert bool(gating(check(Case(h.history())))) is gates


def test_what_a_restarted_operator_changes_after_a_refusal_is_a_move() -> None:
    h = refused()
    h.operator(OperatorEventKind.STARTED)
    h.create(made("PodGroup", "agg-worker-0"), by=OPERATOR)
    h.checkpoint(BEFORE)
    assert only(check(Case(h.history())), Verdict.VIOLATES).subject == "PodGroup/agg-worker-0"


def test_a_pod_that_the_platform_alone_replaced_is_unknown() -> None:
    h = refused()
    pod = next(raw for raw in h.objects.values() if raw["kind"] == "Pod")
    h.delete(pod, by=PLATFORM)
    h.checkpoint(BEFORE)
    assert (
        "no write of the operator is known"
        in only(check(Case(h.history())), Verdict.UNKNOWN).message
    )


def test_a_child_changed_by_an_unknown_writer_is_unknown() -> None:
    h = refused()
    h.update(edited(h.live("Service", "agg-worker"), "spec", "x", to="y"), by=STRANGER)
    h.checkpoint(BEFORE)
    assert only(check(Case(h.history())), Verdict.UNKNOWN)


def test_the_suites_own_annotation_is_no_move() -> None:
    h = refused()
    graph = edited(h.live("DynamoGraphDeployment", "agg"), "metadata", "annotations", "t", to="1")
    h.update(graph, by=SUITE)
    h.checkpoint(BEFORE)
    assert gating(check(Case(h.history()))) == []


@pytest.mark.parametrize(("rested", "gates"), [(True, True), (False, False)])
def test_a_new_status_claim_gates_only_after_full_rest(rested: bool, gates: bool) -> None:
    h = refused(judged=rested)
    graph = h.live("DynamoGraphDeployment", "agg")
    h.update(edited(graph, "status", "state", to="failed"), by=OPERATOR, status=True)
    h.checkpoint(BEFORE)
    result = check(Case(h.history()))
    assert bool(gating(result)) is gates
    assert len(result.findings) == 1


def test_a_status_heartbeat_is_no_move() -> None:
    h = refused(judged=True)
    graph = h.live("DynamoGraphDeployment", "agg")
    h.update(edited(graph, "status", "observedGeneration", to=9), by=OPERATOR, status=True)
    h.checkpoint(BEFORE)
    assert check(Case(h.history())).findings == ()


def test_a_gap_after_the_refusal_is_unknown() -> None:
    h = refused()
    h.gap("Deployment")
    h.checkpoint(BEFORE)
    assert "gap for Deployment" in only(check(Case(h.history())), Verdict.UNKNOWN).message


def test_a_refusal_without_a_hold_window_is_unknown() -> None:
    h = refused()
    assert "no hold window" in only(check(Case(h.history())), Verdict.UNKNOWN).message


def test_a_window_that_is_too_short_is_unknown() -> None:
    h = refused()
    h.checkpoint(BEFORE, hold=1.0)
    assert "only 1 s were recorded" in only(check(Case(h.history())), Verdict.UNKNOWN).message


def test_a_target_that_was_not_recorded_is_unknown() -> None:
    h = refused()
    h.checkpoint(BEFORE)
    records = [
        r for r in h.records
        if not (isinstance(r, Event) and r.obj.kind == "DynamoGraphDeployment")
    ]  # fmt: skip
    assert "does not have" in only(check(Case(History(records))), Verdict.UNKNOWN).message


def test_what_an_accepted_step_does_is_not_held_against_a_later_refusal() -> None:
    h = HistoryBuilder()
    h.deployed(BEFORE)
    after = scale("Worker", to=2).apply(BEFORE)
    h.step(scale("Worker", to=2), BEFORE)
    h.step(ADD, after, code=403, answer=NO)
    h.become(settled(after, generation=2), after=0.5)
    h.checkpoint(after)
    assert gating(check(Case(h.history()))) == []


# Other answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (403, 'User "x" cannot patch resource "dynamographdeployments"', "forbidden by RBAC"),
        (409, "the object has been modified", "conflict"),
        (500, 'failed calling webhook "v": connection refused', "a webhook could not be called"),
        (504, "timeout", "server error"),
    ],
)
def test_answers_that_are_no_refusal_are_unknown(code: int, message: str, kind: str) -> None:
    h = refused(code=code, answer={"message": message})
    h.checkpoint(BEFORE)
    finding = only(check(Case(h.history())), Verdict.UNKNOWN)
    assert kind in finding.message
    assert message in finding.message


# Doors -----------------------------------------------------------------------------------------


def through(first: int, second: int, *, transition: Transition = ADD) -> History:
    h = HistoryBuilder()
    h.deployed(BEFORE)
    for code, door in ((first, "merge-patch-v1alpha1"), (second, "merge-patch-v1beta1")):
        h.step(transition, BEFORE, code=code, answer=NO if code == 403 else {}, door=door)
    h.checkpoint(BEFORE if first != 200 and second != 200 else AFTER)
    return h.history()


def test_one_door_that_refuses_and_one_that_accepts_violates() -> None:
    finding = only(check(Case(through(403, 200))), Verdict.VIOLATES)
    assert finding.message == (
        "add-multinode-2 of Worker was refused through merge-patch-v1alpha1 and accepted through "
        "merge-patch-v1beta1"
    )


@pytest.mark.parametrize("code", [200, 403])
def test_doors_that_agree_conform(code: int) -> None:
    assert gating(check(Case(through(code, code)))) == []


def test_a_component_of_a_graph_is_no_door_of_the_graph() -> None:
    h = HistoryBuilder()
    h.deployed(BEFORE)
    h.step(ADD, BEFORE, code=403, answer=NO)
    h.step(ADD, BEFORE, component="agg-worker", moved=True)
    h.checkpoint(BEFORE)
    assert gating(check(Case(h.history()))) == []


# Promises --------------------------------------------------------------------------------------


def accepted(
    transition: Transition = ADD, *, profile: Any = None, moved: bool | None = None,
    expect: Expect = Expect.PROMISE, component: str = "",
) -> History:  # fmt: skip
    h = HistoryBuilder(profile)
    h.deployed(BEFORE)
    h.step(transition, BEFORE, moved=moved, expect=expect, component=component)
    h.checkpoint(BEFORE)
    return h.history()


def test_an_accepted_change_that_the_profile_promises_to_refuse_violates() -> None:
    found = promise_findings(Case(accepted(profile=promising(add_multinode="refuse"))))
    assert [f.verdict for f in found] == [Verdict.VIOLATES]
    assert found[0].message == (
        "add-multinode-2 of service Worker of graph agg through merge-patch-v1beta1 was accepted "
        "(HTTP 200, generation 1 → 2), but profile reference promises to refuse add-multinode"
    )


def test_a_refused_change_that_the_profile_promises_to_reconcile_violates() -> None:
    h = refused(profile=promising(add_multinode="reconcile"))
    h.checkpoint(BEFORE)
    assert (
        "promises to reconcile add-multinode"
        in only(check(Case(h.history())), Verdict.VIOLATES).message
    )


@pytest.mark.parametrize("promise", ["reconcile", "either"])
def test_an_accepted_change_fits_these_promises(promise: str) -> None:
    assert promise_findings(Case(accepted(profile=promising(add_multinode=promise)))) == []


def test_one_refused_part_refuses_a_mixed_request() -> None:
    mixed = together("toggle and image", ADD, set_image("Worker", "vllm:2.0.0"))
    profile = promising(add_multinode="refuse", image="reconcile")
    assert [f.verdict for f in promise_findings(Case(accepted(mixed, profile=profile)))] == [
        Verdict.VIOLATES
    ]
    h = refused(mixed, profile=profile)
    h.checkpoint(BEFORE)
    assert gating(check(Case(h.history()))) == []


def test_a_case_that_expects_a_refusal_and_gets_none_violates() -> None:
    assert [f.verdict for f in promise_findings(Case(accepted(expect=Expect.REFUSE)))] == [
        Verdict.VIOLATES
    ]


def test_a_case_that_expects_reconciliation_and_is_refused_violates() -> None:
    h = refused(expect=Expect.RECONCILE)
    h.checkpoint(BEFORE)
    assert only(check(Case(h.history())), Verdict.VIOLATES)


def test_a_blocked_target_may_be_refused_or_accepted() -> None:
    profile = promising(add_multinode="refuse")
    assert promise_findings(Case(accepted(expect=Expect.BLOCKED, profile=profile))) == []


ILLEGAL = Transition(name="one-node", kinds=(ChangeKind.ILLEGAL,), apply=lambda g: g)


def test_an_illegal_request_that_was_accepted_violates() -> None:
    found = promise_findings(Case(accepted(ILLEGAL, moved=True)))
    assert [f.verdict for f in found] == [Verdict.VIOLATES]
    assert "only a refusal is right" in found[0].message


def test_an_illegal_field_that_was_pruned_is_unknown() -> None:
    found = promise_findings(Case(accepted(ILLEGAL, moved=False)))
    assert [f.verdict for f in found] == [Verdict.UNKNOWN]


def test_a_step_made_moot_by_a_refusal_breaks_no_promise() -> None:
    h = refused(profile=promising(add_multinode="refuse", remove_multinode="refuse"))
    h.step(remove_multinode("Worker"), BEFORE, code=0)
    h.step(remove_multinode("Worker"), BEFORE, moved=False)
    h.checkpoint(BEFORE)
    assert promise_findings(Case(h.history())) == []


def test_a_value_outside_the_schema_is_no_promise() -> None:
    answer = {"message": "DynamoGraphDeployment agg is invalid: spec.components[1].multinode"
              ".nodeCount: Invalid value: 2: nodeCount in body should be less than 2"}  # fmt: skip
    profile = promising(add_multinode="reconcile")
    h = refused(answer=answer, code=422, profile=profile)
    h.checkpoint(BEFORE)
    result = check(Case(h.history()))
    assert gating(result) == []
    assert "the schema does not allow the value" in reported(result)[0].message


def test_a_cel_rule_that_refuses_a_promised_change_violates() -> None:
    answer = {"message": "DynamoGraphDeployment agg is invalid: spec.components[1].multinode: "
              "Invalid value: topology cannot change"}  # fmt: skip
    h = refused(answer=answer, code=422, profile=promising(add_multinode="reconcile"))
    h.checkpoint(BEFORE)
    assert only(check(Case(h.history())), Verdict.VIOLATES)


def test_a_component_has_a_promise_of_its_own() -> None:
    profile = promising(add_multinode="reconcile", component="refuse")
    history = accepted(profile=profile, component="agg-worker", moved=True)
    assert [f.verdict for f in promise_findings(Case(history))] == [Verdict.VIOLATES]


def test_what_somebody_elses_deployment_does_meanwhile_is_no_move() -> None:
    h = HistoryBuilder()
    h.deployed(BEFORE)
    foreign = made("Deployment", "look-alike", spec={"replicas": 1})
    h.foreign(foreign)
    h.step(ADD, BEFORE, code=403, answer=NO)
    child = made("ReplicaSet", "look-alike-1", owner=foreign)
    h.create(child, by=PLATFORM)
    h.create(made("Pod", "look-alike-1-x", owner=child), by=PLATFORM)
    h.checkpoint(BEFORE)
    assert check(Case(h.history())).findings == ()
