"""What a status claims of itself, of components, and of targets that cannot be reached."""

import copy

import pytest

from conformance.judge.state.match import blocked_mismatches, mismatches
from conformance.judge.state.status import claim
from conformance.model.verdict import CheckerName
from tests.objects import Raw, a_graph, condition, find, made, settled, snapshot, without

SINGLE, MULTI = a_graph(), a_graph(node_count=2)
BLOCKER = "Service/somebodys"


def status_truth(objects: list[Raw]) -> list[str]:
    rows = mismatches(snapshot(objects, SINGLE))
    return [row.message for row in [row for row in rows if row.checker is CheckerName.STATUS_TRUTH]]


def not_ready(objects: list[Raw], *, reason: str = "taken", state: str = "pending") -> list[Raw]:
    objects = copy.deepcopy(objects)
    status = find(objects, "DynamoGraphDeployment", "agg")["status"]
    said = condition("Ready", False, reason)
    status |= {"state": state, "conditions": [said]}
    return objects


# Both at once -------------------------------------------------------------------------------------


def test_a_graph_that_is_not_ready_is_not_successful() -> None:
    lie = "DGD agg says that it is not Ready and state successful at once"
    assert lie in status_truth(not_ready(settled(SINGLE), state="successful"))
    assert lie not in status_truth(not_ready(settled(SINGLE), state="pending"))


def test_neither_is_one_whose_target_cannot_be_reached() -> None:
    unready = settled(MULTI, ready=False)
    assert blocked_mismatches(snapshot(not_ready(unready), MULTI)) == []
    found = blocked_mismatches(snapshot(not_ready(unready, state="successful"), MULTI))
    assert [row.checker for row in found] == [CheckerName.STATUS_TRUTH]


# Components ---------------------------------------------------------------------------------------


def available(objects: list[Raw], name: str = "Available") -> list[Raw]:
    objects = copy.deepcopy(objects)
    component = find(objects, "DynamoComponentDeployment", "agg-worker")
    component["status"]["conditions"] = [condition(name, True)]
    return objects


@pytest.mark.parametrize("name", ["Available", "Ready"])
def test_a_component_without_a_ready_pod_is_not_available(name: str) -> None:
    objects = available(not_ready(settled(SINGLE, ready=False)), name)
    text = f"DCD agg-worker says {name}, and no pod of service Worker is ready"
    assert text in status_truth(objects)
    assert text in [row.message for row in blocked_mismatches(snapshot(objects, SINGLE))]


def test_one_ready_pod_is_enough_for_a_component_to_be_available() -> None:
    objects = available(not_ready(settled(MULTI, ready=False)))
    ready = find(objects, "Pod", "agg-worker-0-0")
    ready["status"]["conditions"] = [condition("Ready", True)]
    assert not [text for text in status_truth(objects) if "DCD" in text]


def test_at_zero_replicas_a_component_may_say_either() -> None:
    none = a_graph(replicas=0)
    assert mismatches(snapshot(available(settled(none)), none)) == []


# Somebody else's object in the way ----------------------------------------------------------------


def blocked(objects: list[Raw], *, others: frozenset[str] = frozenset({BLOCKER})) -> list[str]:
    rows = blocked_mismatches(snapshot(objects, SINGLE, others=others))
    return [row.message for row in rows]


def test_not_ready_with_a_reason_is_the_truth_where_a_name_is_taken() -> None:
    objects = not_ready(settled(SINGLE))
    door = find(objects, "Service", "agg-worker")
    objects = without(objects, door, find(objects, "EndpointSlice", "agg-worker-e"))
    assert blocked([*objects, made("Service", "somebodys")]) == []


def test_it_is_none_without_a_reason_or_without_such_an_object() -> None:
    objects = not_ready(settled(SINGLE), reason="")
    taken = [*objects, made("Service", "somebodys")]
    text = ["DGD agg does not say Ready, and its target has been reached"]
    assert blocked(taken) == text
    secret = [*not_ready(settled(SINGLE)), made("Secret", "theirs")]
    assert blocked(secret, others=frozenset({"Secret/theirs"})) == text


# Said again ---------------------------------------------------------------------------------------


def test_times_and_words_make_no_new_claim() -> None:
    old = {"observedGeneration": 1, "conditions": [condition("Ready", False, "a")]}
    again = copy.deepcopy(old)
    again["observedGeneration"] = 2
    again["conditions"][0] |= {"message": "still", "lastTransitionTime": "now"}  # type: ignore[index]
    assert claim(old) == claim(again)
    assert claim(old) != claim({**old, "state": "failed"})
