"""Hand-written histories for the renderers: an operator that keeps the Deployment, and others."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Mapping
from typing import Any

from conformance.history.history import History
from conformance.history.records import (
    Checkpoint,
    CheckpointEnd,
    Event,
    EventType,
    Expect,
    Foreign,
    Gap,
    Header,
    OperatorEvent,
    OperatorEventKind,
    Record,
    Step,
    Tables,
    Write,
)
from conformance.judge.checks.base import CheckResult
from conformance.judge.checks.judge import Judgement
from conformance.model.bounds import Bounds
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, ApiVersion, Graph, Role, Service
from conformance.model.manifest import manifest
from conformance.model.profile import Profile
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Outcome, Verdict

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
_PLURALS = {
    "DynamoGraphDeployment": "dynamographdeployments",
    "LeaderWorkerSet": "leaderworkersets",
}
_VERSIONS = {
    GRAPH_KIND: "nvidia.com/v1alpha1",
    COMPONENT_KIND: "nvidia.com/v1alpha1",
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "PodGroup": "scheduling.volcano.sh/v1beta1",
}


class Story:
    """Writes a history as a cluster would: each write takes a revision and is in the audit log."""

    def __init__(self, *, case: str = "add-worker[merge-patch-v1alpha1]") -> None:
        profile = Profile.model_validate(
            {"identity": {"name": "sample"}, "install": {"command": ["{python}"]}}
        )
        self.revision = 100
        self.live: dict[str, dict[str, Any]] = {}
        self.records: list[Record] = [
            Header(
                case=case,
                feature="add",
                title="Once nodeCount goes from absent to 2, the service is an LWS alone",
                operator="sample",
                namespace=NAMESPACE,
                profile=profile.model_dump(mode="json"),
                bounds=Bounds().to_json(),
                users={"dgd-operator": "operator", "suite": "suite", "lws": "LWS controller"},
                started_at=T0 - 5,
            )
        ]

    def put(
        self,
        at: float,
        kind: str,
        name: str,
        *,
        owner: str = "",
        by: str = "dgd-operator",
        namespace: str = NAMESPACE,
        **body: Any,
    ) -> str:
        """Create an object `at` seconds after T0; its uid."""
        uid = f"uid-{kind.lower()}-{name}-{self.revision}"
        labels = body.pop("labels", {})
        owners = []
        if owner:
            parent = self.live[owner]
            owners = [
                {
                    "kind": parent["kind"],
                    "name": parent["metadata"]["name"],
                    "uid": owner,
                    "controller": True,
                }
            ]
        stamp = datetime.datetime.fromtimestamp(T0 + at, datetime.UTC)
        self.live[uid] = {
            "apiVersion": _VERSIONS.get(kind, "v1"),
            "kind": kind,
            "metadata": {
                "name": name,
                "namespace": namespace,
                "uid": uid,
                "generation": 1,
                "creationTimestamp": stamp.strftime("%Y-%m-%dT%H:%M:%SZ"),
                **({"labels": labels} if labels else {}),
                **({"ownerReferences": owners} if owners else {}),
            },
            **body,
        }
        self._write(at, uid, EventType.ADDED, by, "create")
        return uid

    def edit(
        self, at: float, uid: str, *, by: str = "dgd-operator", **body: Mapping[str, Any]
    ) -> None:
        """Merge `body` into the object."""
        self.live[uid] = _merged(self.live[uid], body)
        part = "status" if set(body) == {"status"} else ""
        self._write(at, uid, EventType.MODIFIED, by, "update", part)

    def drop(self, at: float, uid: str, *, by: str = "dgd-operator") -> None:
        """Delete the object."""
        self._write(at, uid, EventType.DELETED, by, "delete")
        del self.live[uid]

    def _write(
        self, at: float, uid: str, type_: EventType, by: str, verb: str, part: str = ""
    ) -> None:
        self.revision += 1
        obj = copy.deepcopy(self.live[uid])
        obj["metadata"]["resourceVersion"] = str(self.revision)
        self.live[uid]["metadata"]["resourceVersion"] = str(self.revision)
        self.records.append(Event(type=type_, revision=self.revision, at=T0 + at, object=obj))
        kind = obj["kind"]
        self.records.append(
            Write(
                at=T0 + at,
                received_at=T0 + at - 0.01,
                verb=verb,
                user=by,
                agent=by,
                group=obj["apiVersion"].partition("/")[0] if "/" in obj["apiVersion"] else "",
                resource=_PLURALS.get(kind, kind.lower() + "s"),
                subresource=part,
                namespace=obj["metadata"]["namespace"],
                name=obj["metadata"]["name"],
                code=200,
            )
        )

    def step(self, at: float, name: str, **fields: Any) -> Step:
        """The suite did something and the API answered `at`."""
        values: dict[str, Any] = {
            "kinds": (ChangeKind.ADD_MULTINODE,),
            "target": "vllm-agg",
            "target_kind": GRAPH_KIND,
            "namespace": NAMESPACE,
            "judged": True,
            "expect": Expect.PROMISE,
            "door": "merge-patch-v1alpha1",
            "request": {
                "verb": "PATCH",
                "contentType": "application/merge-patch+json",
                "body": {"spec": {"services": {"worker": {"multinode": {"nodeCount": 2}}}}},
            },
            "sent_at": T0 + at - 0.02,
            "answered_at": T0 + at,
            "code": 200,
            "before": GRAPH,
            "after": MULTINODE,
            "services": ("worker",),
            "generation_before": 1,
            "generation_after": 2,
        }
        step = Step(name=name, **(values | fields))
        self.records.append(step)
        return step

    def checkpoint(
        self, at: float, name: str, *, since: float, steps: tuple[str, ...], **fields: Any
    ) -> Checkpoint:
        """The driver stopped looking."""
        values: dict[str, Any] = {
            "end": CheckpointEnd.HELD,
            "graphs": (MULTINODE,),
            "reached_at": T0 + at - 5,
            "hold": 5.0,
            "deadline": 30.0,
        }
        checkpoint = Checkpoint(
            name=name,
            at=T0 + at,
            since=T0 + since,
            revision=self.revision,
            steps=steps,
            **(values | fields),
        )
        self.records.append(checkpoint)
        return checkpoint

    def log(self, at: float, text: str, kind: OperatorEventKind = OperatorEventKind.LOG) -> None:
        """A line of the operator's log, or an event of its process."""
        self.records.append(OperatorEvent(kind=kind, at=T0 + at, text=text))

    def gap(self, at: float, reason: str, kind: str = "") -> None:
        """The recorder missed something."""
        self.records.append(Gap(at=T0 + at, reason=reason, kind=kind))

    def table(self, at: float, checkpoint: str, text: dict[str, str]) -> None:
        """The API server's tables."""
        self.records.append(Tables(checkpoint=checkpoint, at=T0 + at, text=text))

    def foreign(self, at: float, uid: str) -> None:
        """Mark an object as somebody else's."""
        obj = self.live[uid]
        meta = obj["metadata"]
        self.records.append(
            Foreign(
                uid=uid,
                kind=obj["kind"],
                namespace=meta["namespace"],
                name=meta["name"],
                at=T0 + at,
            )
        )

    def history(self) -> History:
        """What was written so far."""
        return History(self.records)


def _merged(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return {**old, **{key: _merged(old.get(key), value) for key, value in new.items()}}
    return new


READY = {"conditions": [{"type": "Ready", "status": "True", "reason": "all_resources_are_ready"}]}
PENDING = {
    "conditions": [{"type": "Ready", "status": "False", "reason": "some_resources_are_not_ready"}]
}


def _deployed(story: Story) -> dict[str, str]:
    """The graph on single nodes, settled at T0-1; uids by short name."""
    body = manifest(GRAPH, version=ApiVersion.V1ALPHA1, namespace=NAMESPACE)
    story.step(
        -4.0,
        "deploy",
        kinds=(ChangeKind.DEPLOY,),
        judged=False,
        door="create-v1alpha1",
        request={"verb": "POST", "contentType": "application/json", "body": body},
        before=None,
        after=GRAPH,
        services=(),
        code=201,
        generation_before=0,
        generation_after=1,
    )
    ids = {"graph": story.put(-4.0, GRAPH_KIND, "vllm-agg", by="suite", spec=body["spec"])}
    for at, service in ((-3.9, "Frontend"), (-3.8, "worker")):
        name = f"vllm-agg-{service.lower()}"
        labels = {"nvidia.com/dynamo-component": service}
        dcd = story.put(
            at,
            COMPONENT_KIND,
            name,
            owner=ids["graph"],
            labels=labels,
            spec={"serviceName": service},
        )
        ids[f"dcd-{service}"] = dcd
        ids[f"deployment-{service}"] = story.put(
            at + 0.05,
            "Deployment",
            name,
            owner=dcd,
            labels=labels,
            spec={"replicas": 1, "selector": {"matchLabels": {"nvidia.com/selector": name}}},
        )
        ids[f"service-{service}"] = story.put(
            at + 0.06, "Service", name, owner=dcd, spec={"selector": {"nvidia.com/selector": name}}
        )
        ids[f"pod-{service}"] = story.put(
            at + 0.2,
            "Pod",
            f"{name}-7d9f-x1",
            owner=ids[f"deployment-{service}"],
            by="system:kube-controller-manager",
            spec={"containers": [{"name": "main"}]},
            status={"phase": "Pending"},
        )
        story.edit(
            at + 0.9,
            ids[f"pod-{service}"],
            by="system:node:n1",
            status={**READY, "phase": "Running", "containerStatuses": [{"ready": True}]},
        )
        story.edit(
            at + 1.0,
            ids[f"deployment-{service}"],
            by="system:kube-controller-manager",
            status={
                "replicas": 1,
                "readyReplicas": 1,
                "updatedReplicas": 1,
                "availableReplicas": 1,
            },
        )
    story.edit(-2.0, ids["graph"], status={**READY, "state": "successful"})
    story.checkpoint(
        -1.0,
        "deploy",
        since=-4.0,
        steps=("deploy",),
        judged=False,
        graphs=(GRAPH,),
        reached_at=T0 - 2.5,
        hold=1.5,
    )
    return ids


def _lws(story: Story, ids: dict[str, str], at: float) -> None:
    dcd = ids["dcd-worker"]
    name = "vllm-agg-worker-0"
    ids["podgroup"] = story.put(at, "PodGroup", name, owner=dcd, spec={"minMember": 2})
    ids["lws"] = story.put(
        at + 0.05,
        "LeaderWorkerSet",
        name,
        owner=dcd,
        spec={"replicas": 1, "leaderWorkerTemplate": {"size": 2}},
    )
    leader = story.put(
        at + 0.15, "StatefulSet", name, owner=ids["lws"], by="lws", spec={"replicas": 1}
    )
    pod = story.put(
        at + 0.2,
        "Pod",
        name,
        owner=leader,
        by="system:kube-controller-manager",
        spec={"containers": [{"name": "main"}]},
        status={"phase": "Pending"},
    )
    workers = story.put(
        at + 0.3, "StatefulSet", f"{name}-0", owner=pod, by="lws", spec={"replicas": 1}
    )
    pod2 = story.put(
        at + 0.35,
        "Pod",
        f"{name}-0-1",
        owner=workers,
        by="system:kube-controller-manager",
        spec={"containers": [{"name": "main"}]},
        status={"phase": "Pending"},
    )
    for delay, uid in ((0.8, pod), (1.1, pod2)):
        story.edit(
            at + delay,
            uid,
            by="system:node:n1",
            status={**READY, "phase": "Running", "containerStatuses": [{"ready": True}]},
        )
    story.edit(
        at + 1.2,
        ids["lws"],
        by="lws",
        status={"replicas": 1, "readyReplicas": 1, "updatedReplicas": 1},
    )


def leftover() -> tuple[History, Judgement]:
    """The operator makes the LWS, says Ready, and keeps the Deployment until the deadline."""
    story = Story()
    ids = _deployed(story)
    story.step(0.0, "add-multinode-2")
    spec = {"services": {"worker": {"multinode": {"nodeCount": 2}}}}
    story.edit(0.0, ids["graph"], by="suite", spec=spec, metadata={"generation": 2})
    story.edit(0.05, ids["graph"], status={**PENDING, "state": "pending"})
    story.edit(
        0.1, ids["dcd-worker"], spec={"multinode": {"nodeCount": 2}}, metadata={"generation": 2}
    )
    story.log(0.12, 'INFO reconciling component="vllm-agg-worker"')
    _lws(story, ids, 0.2)
    story.log(0.27, 'INFO created LeaderWorkerSet name="vllm-agg-worker-0"')
    story.edit(1.6, ids["graph"], status={**READY, "state": "successful"})
    story.table(
        31.0,
        "add-multinode-2",
        {
            "Deployment": "NAME                READY   UP-TO-DATE   AVAILABLE   AGE\n"
            "vllm-agg-frontend   1/1     1            1           34s\n"
            "vllm-agg-worker     1/1     1            1           34s\n",
            "LeaderWorkerSet": "NAME                READY   DESIRED   UP-TO-DATE   AGE\n"
            "vllm-agg-worker-0   1       1         1            30s\n",
        },
    )
    story.checkpoint(
        30.5,
        "add-multinode-2",
        since=0.0,
        steps=("add-multinode-2",),
        end=CheckpointEnd.DEADLINE,
        reached_at=None,
        hold=0.0,
    )
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
    return story.history(), judgement


def good() -> tuple[History, Judgement]:
    """The Deployment goes, the LWS comes, and it holds."""
    story = Story(case="add-worker[replace-v1alpha1]")
    ids = _deployed(story)
    story.step(0.0, "add-multinode-2")
    spec = {"services": {"worker": {"multinode": {"nodeCount": 2}}}}
    story.edit(0.0, ids["graph"], by="suite", spec=spec, metadata={"generation": 2})
    _lws(story, ids, 0.2)
    leaving = {"deletionTimestamp": "2026-09-21T14:13:20Z", "finalizers": ["foregroundDeletion"]}
    story.edit(0.4, ids["deployment-worker"], metadata=leaving)
    story.drop(0.9, ids["pod-worker"], by="system:kube-controller-manager")
    story.drop(1.0, ids["deployment-worker"], by="system:kube-controller-manager")
    story.checkpoint(6.6, "add-multinode-2", since=0.0, steps=("add-multinode-2",))
    judgement = Judgement(
        verdict=Verdict.CONFORMS,
        results=(CheckResult(checker=CheckerName.COEXISTENCE, looked_at=1),),
        outcomes={"add-multinode-2": Outcome.RECONCILED},
    )
    return story.history(), judgement


def storm() -> History:
    """An operator that writes one label again and again, a gap, and a crash."""
    story = Story(case="idle")
    ids = _deployed(story)
    story.step(0.0, "annotation-only", kinds=(ChangeKind.ANNOTATION,), generation_after=1)
    for n in range(40):
        story.edit(0.1 + n * 0.05, ids["deployment-worker"], metadata={"labels": {"tick": str(n)}})
    story.gap(1.5, "410 Gone, listed again", "Pod")
    story.log(1.9, "exit code 2", OperatorEventKind.EXITED)
    story.log(1.9, "panic: runtime error", OperatorEventKind.PANIC)
    story.checkpoint(
        2.5,
        "annotation-only",
        since=0.0,
        steps=("annotation-only",),
        end=CheckpointEnd.INTERRUPTED,
        reached_at=None,
        hold=0.0,
    )
    return story.history()
