"""Histories for the renderers: an operator that keeps the Deployment, and others."""

from typing import Any

from conformance.history.history import History
from conformance.history.records import CheckpointEnd, OperatorEventKind, Step, Tables
from conformance.judge.findings import CheckResult
from conformance.judge.verdict import Judgement
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, ApiVersion, Graph, Role, Service
from conformance.model.manifest import manifest
from conformance.model.profile import Profile
from conformance.model.transition import ChangeKind, Transition
from conformance.model.verdict import CheckerName, Finding, Outcome, Verdict
from tests.builders import LWS_CONTROLLER, PLATFORM, HistoryBuilder, Raw, made

T0 = 1_790_000_000.0
NAMESPACE = "dgd-1a2b"
GRAPH = Graph(
    name="vllm-agg",
    services=(
        Service(name="Frontend", role=Role.FRONTEND, container={"image": "vllm:0.8.0"}),
        Service(name="worker", role=Role.WORKER, gpus=1, container={"image": "vllm:0.8.0"}),
    ),
)
MULTINODE = GRAPH.with_service(GRAPH.service("worker").replace(node_count=2))
PROFILE = Profile.model_validate(
    {"identity": {"name": "sample"}, "install": {"command": ["{python}"]}}
)
READY = {"conditions": [{"type": "Ready", "status": "True", "reason": "all_resources_are_ready"}]}
PENDING = {
    "conditions": [{"type": "Ready", "status": "False", "reason": "some_resources_are_not_ready"}]
}
RUNNING = {**READY, "phase": "Running", "containerStatuses": [{"ready": True}]}


def story(*, case: str = "add-worker[merge-patch-v1alpha1]") -> HistoryBuilder:
    """A history that has just begun, 5 s before T0. Its clock moves only when it is told to."""
    return HistoryBuilder(
        PROFILE,
        case=case,
        feature="add",
        title="Once nodeCount goes from absent to 2, the service is an LWS alone",
        operator="sample",
        namespace=NAMESPACE,
        start=T0 - 5,
        tick=0.0,
        basics=False,
        stamped=True,
        version=ApiVersion.V1ALPHA1,
    )


def put(h: HistoryBuilder, at: float, kind: str, name: str, **fields: Any) -> Raw:
    """Create an object `at` seconds after T0."""
    h.until(T0 + at)
    by = fields.pop("by", "")
    raw = made(kind, name, namespace=NAMESPACE, **fields)
    if kind == COMPONENT_KIND:
        raw["apiVersion"] = "nvidia.com/v1alpha1"
    h.create(raw, by=by)
    return raw


def edit(h: HistoryBuilder, at: float, raw: Raw, *, by: str = "", **fields: Any) -> None:
    """Merge fields into the object `at` seconds after T0."""
    h.until(T0 + at)
    h.edit(raw["kind"], raw["metadata"]["name"], by=by, **fields)


def drop(h: HistoryBuilder, at: float, raw: Raw, *, by: str = PLATFORM) -> None:
    """Delete the object `at` seconds after T0."""
    h.until(T0 + at)
    h.delete(raw, by=by)


def log(
    h: HistoryBuilder, at: float, text: str, kind: OperatorEventKind = OperatorEventKind.LOG
) -> None:
    """A line of the operator's log, or an event of its process, `at` seconds after T0."""
    h.until(T0 + at)
    h.operator(kind, text)


def step(
    h: HistoryBuilder,
    at: float,
    name: str,
    *,
    kind: ChangeKind = ChangeKind.ADD_MULTINODE,
    services: tuple[str, ...] = ("worker",),
    **fields: Any,
) -> Step:
    """The suite changes the graph, by default to MULTINODE, answered `at` seconds after T0."""
    transition = Transition(
        name=name, kinds=(kind,), apply=lambda _: MULTINODE, services=services,
        moves_generation=kind is not ChangeKind.ANNOTATION,
    )  # fmt: skip
    body = {"spec": {"services": {"worker": {"multinode": {"nodeCount": 2}}}}}
    values: dict[str, Any] = {
        "door": "merge-patch-v1alpha1",
        "request": {
            "verb": "PATCH", "contentType": "application/merge-patch+json", "body": body,
        },
    }  # fmt: skip
    h.until(T0 + at - 0.01)
    return h.step(transition, GRAPH, **(values | fields))


def _deployed(h: HistoryBuilder) -> dict[str, Raw]:
    """The graph on single nodes, settled at T0-1; its objects by short name."""
    body = manifest(GRAPH, version=ApiVersion.V1ALPHA1, namespace=NAMESPACE)
    h.until(T0 - 4.01)
    h.step(
        Transition(name="deploy", kinds=(ChangeKind.DEPLOY,), apply=lambda _: GRAPH),
        None,
        judged=False,
        door="create-v1alpha1",
        request={"verb": "POST", "contentType": "application/json", "body": body},
        code=201,
    )
    graph = h.live(GRAPH_KIND, GRAPH.name)
    objects = {"graph": graph}
    for at, service in ((-3.9, "Frontend"), (-3.5, "worker")):
        name = f"vllm-agg-{service.lower()}"
        labels = {"nvidia.com/dynamo-component": service}
        selector = {"nvidia.com/selector": name}
        component = put(
            h, at, COMPONENT_KIND, name, owner=graph, labels=labels,
            spec={"serviceName": service},
        )  # fmt: skip
        deployment = put(
            h, at + 0.05, "Deployment", name, owner=component, labels=labels,
            spec={"replicas": 1, "selector": {"matchLabels": selector}},
        )  # fmt: skip
        put(h, at + 0.06, "Service", name, owner=component, spec={"selector": selector})
        pod = put(
            h, at + 0.1, "Pod", f"{name}-7d9f-x1", owner=deployment,
            spec={"containers": [{"name": "main"}]}, status={"phase": "Pending"},
        )  # fmt: skip
        edit(h, at + 0.2, pod, status=RUNNING)
        ready = dict.fromkeys(
            ("replicas", "readyReplicas", "updatedReplicas", "availableReplicas"), 1
        )
        edit(h, at + 0.3, deployment, by=PLATFORM, status=ready)
        objects |= {
            f"dcd-{service}": component, f"deployment-{service}": deployment, f"pod-{service}": pod,
        }  # fmt: skip
    edit(h, -2.5, graph, status={**READY, "state": "successful"})
    h.checkpoint(GRAPH, name="deploy", judged=False, hold=1.5)
    return objects


def _lws(h: HistoryBuilder, component: Raw, at: float) -> None:
    name = "vllm-agg-worker-0"
    pending: dict[str, Any] = {
        "spec": {"containers": [{"name": "main"}]}, "status": {"phase": "Pending"},
    }  # fmt: skip
    put(h, at, "PodGroup", name, owner=component, spec={"minMember": 2})
    lws = put(
        h, at + 0.05, "LeaderWorkerSet", name, owner=component,
        spec={"replicas": 1, "leaderWorkerTemplate": {"size": 2}},
    )  # fmt: skip
    log(h, at + 0.07, 'INFO created LeaderWorkerSet name="vllm-agg-worker-0"')
    leaders = put(h, at + 0.15, "StatefulSet", name, owner=lws, spec={"replicas": 1})
    leader = put(h, at + 0.2, "Pod", name, owner=leaders, **pending)
    workers = put(h, at + 0.3, "StatefulSet", f"{name}-0", owner=leader, spec={"replicas": 1})
    worker = put(h, at + 0.35, "Pod", f"{name}-0-1", owner=workers, **pending)
    edit(h, at + 0.8, leader, status=RUNNING)
    edit(h, at + 1.1, worker, status=RUNNING)
    status = dict.fromkeys(("replicas", "readyReplicas", "updatedReplicas"), 1)
    edit(h, at + 1.2, lws, by=LWS_CONTROLLER, status=status)


def leftover() -> tuple[History, Judgement]:
    """The operator makes the LWS, says Ready, and keeps the Deployment until the deadline."""
    h = story()
    objects = _deployed(h)
    component, graph = objects["dcd-worker"], objects["graph"]
    step(h, 0.0, "add-multinode-2")
    edit(h, 0.05, graph, status={**PENDING, "state": "pending"})
    edit(h, 0.1, component, spec={"multinode": {"nodeCount": 2}}, metadata={"generation": 2})
    log(h, 0.12, 'INFO reconciling component="vllm-agg-worker"')
    _lws(h, component, 0.2)
    edit(h, 1.6, graph, status={**READY, "state": "successful"})
    h.until(T0 + 30.5)
    h.checkpoint(MULTINODE, name="add-multinode-2", end=CheckpointEnd.DEADLINE, hold=0.0)
    text = {
        "Deployment": "NAME                READY   UP-TO-DATE   AVAILABLE   AGE\n"
        "vllm-agg-frontend   1/1     1            1           34s\n"
        "vllm-agg-worker     1/1     1            1           34s\n",
        "LeaderWorkerSet": "NAME                READY   DESIRED   UP-TO-DATE   AGE\n"
        "vllm-agg-worker-0   1       1         1            30s\n",
    }
    h.records.append(Tables(checkpoint="add-multinode-2", at=T0 + 31.0, text=text))
    finding = Finding(
        checker=CheckerName.COEXISTENCE,
        verdict=Verdict.VIOLATES,
        subject="Deployment/vllm-agg-worker",
        message="service worker: Deployment vllm-agg-worker still exists 30 s after multinode was "
        "set; it and LWS vllm-agg-worker-0 are both controlled by DCD vllm-agg-worker, created by "
        "the operator",
        graph="vllm-agg",
        step="add-multinode-2",
        first_at=T0 + 0.25,
        last_at=T0 + 30.5,
    )
    overlap = Finding(
        checker=CheckerName.AVAILABILITY,
        verdict=Verdict.CONFORMS,
        subject="service/worker",
        message="never without a ready pod",
    )
    lie = Finding(
        checker=CheckerName.STATUS_TRUTH,
        verdict=Verdict.UNKNOWN,
        subject="DynamoGraphDeployment/vllm-agg",
        message="DGD vllm-agg has no observedGeneration, so its Ready may be an old claim",
        step="add-multinode-2",
    )
    judgement = Judgement(
        verdict=Verdict.VIOLATES,
        results=(
            CheckResult(checker=CheckerName.STATUS_TRUTH, findings=(lie,), looked_at=1),
            CheckResult(checker=CheckerName.COEXISTENCE, findings=(finding,), looked_at=1),
            CheckResult(checker=CheckerName.AVAILABILITY, findings=(overlap,), looked_at=1),
            CheckResult(checker=CheckerName.SIZE, looked_at=2),
            CheckResult(checker=CheckerName.DELETION),
        ),
        outcomes={"deploy": Outcome.RECONCILED, "add-multinode-2": Outcome.FAILED},
    )
    return h.history(), judgement


def good() -> tuple[History, Judgement]:
    """The Deployment goes, the LWS comes, and it holds."""
    h = story(case="add-worker[replace-v1alpha1]")
    objects = _deployed(h)
    deployment = objects["deployment-worker"]
    step(h, 0.0, "add-multinode-2")
    leaving = {"deletionTimestamp": "2026-09-21T14:13:20Z", "finalizers": ["foregroundDeletion"]}
    edit(h, 0.1, deployment, metadata=leaving)
    drop(h, 0.2, objects["pod-worker"])
    _lws(h, objects["dcd-worker"], 0.3)
    h.until(T0 + 1.6)
    drop(h, 1.6, deployment)
    h.checkpoint(MULTINODE, name="add-multinode-2")
    judgement = Judgement(
        verdict=Verdict.CONFORMS,
        results=(CheckResult(checker=CheckerName.COEXISTENCE, looked_at=1),),
        outcomes={"add-multinode-2": Outcome.RECONCILED},
    )
    return h.history(), judgement


def storm() -> History:
    """An operator that writes one label again and again, a gap, and a crash."""
    h = story(case="idle")
    deployment = _deployed(h)["deployment-worker"]
    step(h, 0.0, "annotation-only", kind=ChangeKind.ANNOTATION)
    for n in range(40):
        edit(h, 0.1 + n * 0.05, deployment, metadata={"labels": {"tick": str(n)}})
        if n == 28:
            h.until(T0 + 1.5)
            h.gap("Pod", "410 Gone, listed again")
    log(h, 2.1, "exit code 2", OperatorEventKind.EXITED)
    log(h, 2.1, "panic: runtime error", OperatorEventKind.PANIC)
    h.until(T0 + 2.5)
    h.checkpoint(MULTINODE, name="annotation-only", end=CheckpointEnd.INTERRUPTED, hold=0.0)
    return h.history()
