"""The operator's controllers on a fake API, and graphs to give them."""

import time
from collections.abc import Callable
from typing import Any, TypeAlias

from fake_api import NAMESPACE, FakeApi

from reference.faults import Faults
from reference.manager import Manager
from reference.objects import DEPLOYMENT, GRAPH, Kind, Object, meta

__all__ = ["NAMESPACE", "FakeApi", "Operator"]

MULTI: Object = {"nodeCount": 2}


class Operator:
    """The operator's controllers, running on a fake API."""

    def __init__(self, api: FakeApi, *faults: str, single_node: Kind = DEPLOYMENT) -> None:
        self.api = api
        # The fake has the methods of Client that the controllers use.
        self.manager = Manager(api, Faults(faults), single_node=single_node)  # type: ignore[arg-type]
        self.manager.start()

    def stop(self) -> None:
        self.manager.stop()
        for informer in self.manager.cluster.informers.values():
            informer.stop()

    def settle(self, quiet: float = 0.25, within: float = 10.0) -> None:
        """Wait until nothing was written for a while (seconds)."""
        end = time.monotonic() + within
        count, since = -1, time.monotonic()
        while time.monotonic() - since < quiet:
            if time.monotonic() > end:
                raise AssertionError(f"still writing after {within} s: {self.api.writes[-5:]}")
            if len(self.api.writes) != count:
                count, since = len(self.api.writes), time.monotonic()
            time.sleep(0.01)

    def wait(self, true: Callable[[], Any], within: float = 10.0) -> None:
        end = time.monotonic() + within
        while not true():
            if time.monotonic() > end:
                raise AssertionError(f"not true within {within} s: {self.api.writes[-5:]}")
            time.sleep(0.005)


Start: TypeAlias = Callable[..., Operator]
"""The fixture that starts operators."""


def component(name: str = "Worker", *, type_: str = "worker", **fields: Any) -> Object:
    """A component of a v1beta1 graph that can be built in both shapes."""
    main = {
        "name": "main",
        "image": "vllm-runtime:1.0.0",
        "command": ["python3", "-m", "dynamo.vllm"],
        "args": ["--model", "m"],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    template = {"spec": {"containers": [main]}}
    return {"name": name, "type": type_, "podTemplate": template, **fields}


def graph_spec(*components: Object) -> Object:
    return {"backendFramework": "vllm", "components": list(components)}


def condition(obj: Object | None, type_: str) -> Object:
    for entry in ((obj or {}).get("status") or {}).get("conditions") or []:
        if entry["type"] == type_:
            found: Object = entry
            return found
    return {}


def is_ready(api: FakeApi, name: str = "g") -> bool:
    graph = api.find(GRAPH, name)
    if graph is None:
        return False
    observed = (graph.get("status") or {}).get("observedGeneration")
    ready = condition(graph, "Ready").get("status") == "True"
    return ready and observed == meta(graph)["generation"]


def set_worker(api: FakeApi, **fields: Any) -> None:
    def change(graph: Object) -> None:
        worker = graph["spec"]["components"][-1]
        for key, value in fields.items():
            if value is None:
                worker.pop(key, None)
            else:
                worker[key] = value

    api.edit(GRAPH, "g", change)


def deploy(
    api: FakeApi, start: Start, *faults: str, single_node: Kind = DEPLOYMENT, **fields: Any
) -> Operator:
    operator = start(*faults, single_node=single_node)
    frontend = component("Frontend", type_="frontend")
    api.put(GRAPH, "g", spec=graph_spec(frontend, component(**fields)))
    operator.wait(lambda: is_ready(api))
    return operator
