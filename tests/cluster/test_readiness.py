from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from conformance.cluster import readiness
from conformance.kube import Answer, Api
from conformance.model.errors import InfraError
from conformance.model.labels import REAL_NODE

PATH = "/apis/apps/v1/namespaces/a/deployments/b"


def api(body: Mapping[str, Any] | None, *, code: int = 200) -> Api:
    """An API server that says the same to everything; None: nothing at all."""

    class Server:
        def request(self, verb: str, path: str, *args: Any, **kwargs: Any) -> Answer:
            if body is None:
                raise InfraError("silent")
            return Answer(code=code, body=body)

    return cast(Api, Server())


def node(name: str, *, taints: list[str] | None = None, ready: str = "True") -> dict[str, Any]:
    labels = {REAL_NODE: "true"} if name == "real" else {}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [{"key": key} for key in taints or ()]},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


REAL = node("real", taints=[REAL_NODE])


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ([REAL, node("node-0")], True),
        ([REAL], False),
        ([node("real", taints=[REAL_NODE], ready="False"), node("node-0")], False),
        ([node("real", taints=[REAL_NODE, "node.kubernetes.io/not-ready"]), node("node-0")], False),
        ([node("real"), node("node-0")], False),
        ([REAL, node("node-0", taints=["node.kubernetes.io/not-ready"])], False),
    ],
)
def test_nodes_are_ready_once_all_are_and_only_the_real_one_is_tainted(
    nodes: list[dict[str, Any]], expected: bool
) -> None:
    assert readiness.nodes_ready(api({"items": nodes}), 2) is expected


def deployment(**status: int) -> dict[str, Any]:
    counts = {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}
    return {
        "metadata": {"generation": 2},
        "spec": {"replicas": 1},
        "status": {**counts, **status},
    }


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({}, True),
        ({"observedGeneration": 1}, False),
        ({"replicas": 2}, False),
        ({"updatedReplicas": 0}, False),
        ({"availableReplicas": 0}, False),
    ],
)
def test_a_deployment_is_rolled_out_once_only_its_new_pods_run(
    status: dict[str, int], expected: bool
) -> None:
    assert readiness.rolled_out(api(deployment(**status)), PATH) is expected


def test_kwok_works_once_it_holds_the_lease_of_each_simulated_node() -> None:
    leases = {"items": [{"metadata": {"name": name}} for name in ("real", "node-0")]}
    assert readiness.kwok_works(api(leases), ["node-0"])
    assert not readiness.kwok_works(api(leases), ["node-0", "node-1"])


def test_kinds_are_known_once_all_are_announced() -> None:
    group = {
        "metadata": {"name": "example.com"},
        "versions": [{"resources": [{"resource": "things"}]}],
    }
    crds = [
        {"spec": {"group": "example.com", "names": {"plural": plural}}}
        for plural in ("things", "others")
    ]
    assert readiness.discovered(api({"items": [group]}), crds[:1])
    assert not readiness.discovered(api({"items": [group]}), crds)


def test_the_webhook_answers_once_it_refuses_and_not_while_it_cannot_be_called() -> None:
    refusal = {"kind": "Status", "message": 'admission webhook "vpod.kb.io" denied the request'}
    uncalled = {"kind": "Status", "message": "failed calling webhook: connection refused"}
    assert readiness.lws_answers(api(refusal, code=403))
    assert not readiness.lws_answers(api(uncalled, code=500))
    assert not readiness.lws_answers(api({"kind": "Pod"}, code=201))


ASKS: dict[str, Callable[[Api], bool]] = {
    "answers": lambda api: readiness.answers(api, "/readyz"),
    "nodes": lambda api: readiness.nodes_ready(api, 1),
    "deployment": lambda api: readiness.rolled_out(api, PATH),
    "kwok": lambda api: readiness.kwok_works(api, ["node-0"]),
    "kinds": lambda api: readiness.discovered(api, []),
    "webhook": lambda api: readiness.lws_answers(api),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_a_silent_or_failing_api_server_is_not_ready(ask: Callable[[Api], bool]) -> None:
    assert not ask(api(None))
    assert not ask(api({"kind": "Status", "message": "no"}, code=500))
