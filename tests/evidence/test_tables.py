"""kubectl-like tables."""

from conformance.evidence.excerpt import excerpt_of
from conformance.evidence.tables import before_and_after, from_state, join
from conformance.model.state import Obj, State
from tests.evidence import sample


def test_the_servers_own_tables_are_printed_as_they_are() -> None:
    history, _ = sample.leftover()
    _, after = before_and_after(history, excerpt_of(history))
    assert "vllm-agg-worker-0   1       1         1            30s" in after
    assert "CONTROLLED BY" not in after


def test_without_server_tables_they_are_drawn_with_owners() -> None:
    history, _ = sample.leftover()
    before, _ = before_and_after(history, excerpt_of(history))
    rows = [line.split() for line in before.splitlines()]
    assert ["vllm-agg-worker", "1/1", "1", "1", "4s", "DCD", "vllm-agg-worker"] in rows


def test_an_absent_workload_kind_is_said_to_be_absent() -> None:
    text = join({"Deployment": "NAME\nx\n"}, namespace="ns-1")
    assert "$ kubectl get leaderworkersets\nNo resources found in ns-1 namespace." in text
    assert "pods" not in text


def test_after_a_removal_the_deployment_is_gone_from_the_drawn_table() -> None:
    history, _ = sample.good()
    before, after = before_and_after(history, excerpt_of(history))
    assert "vllm-agg-worker     1/1" in before
    assert "vllm-agg-worker     1/1" not in after
    assert "vllm-agg-worker-0   1" in after


def test_an_object_without_an_owner_has_none_in_its_column() -> None:
    pod = Obj({"kind": "Pod", "metadata": {"name": "p", "uid": "1", "namespace": "n"}})
    assert from_state(State([pod]), now=0.0).splitlines()[-1].split() == [
        "p", "0/0", "Unknown", "<none>", "<unknown>", "<none>",
    ]  # fmt: skip
