"""`kubectl get` tables of a checkpoint: as the API server printed them, else drawn from the history."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from conformance.evidence import kinds
from conformance.evidence.excerpt import Excerpt
from conformance.history.history import History
from conformance.history.records import Checkpoint, Tables
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import DEPLOYMENT, LWS, POD_GROUP
from conformance.model.ownership import describe_owner
from conformance.model.state import Obj, State

# Their absence is evidence, so an empty table of these is printed as kubectl says it.
_ALWAYS = (DEPLOYMENT, LWS)

Column = tuple[str, Callable[[Obj], object]]


def _count(*path: str) -> Callable[[Obj], object]:
    return lambda obj: obj.at(*path, default=0)


def _text(*path: str) -> Callable[[Obj], object]:
    return lambda obj: obj.at(*path) or "<none>"


def _condition(type_: str) -> Callable[[Obj], object]:
    return lambda obj: (obj.condition(type_) or {}).get("status", "<none>")


def _ready_of_replicas(obj: Obj) -> str:
    return f"{obj.at('status', 'readyReplicas', default=0)}/{obj.at('spec', 'replicas', default=1)}"


def _pod_ready(obj: Obj) -> str:
    statuses = obj.at("status", "containerStatuses", default=())
    ready = sum(1 for status in statuses if status.get("ready"))
    return f"{ready}/{len(obj.at('spec', 'containers', default=()))}"


def _pod_status(obj: Obj) -> str:
    return "Terminating" if obj.deleting else str(obj.at("status", "phase", default="Unknown"))


def _selector(obj: Obj) -> str:
    pairs = obj.at("spec", "selector", default={})
    return ",".join(f"{key}={value}" for key, value in sorted(pairs.items())) or "<none>"


# The printer columns that kubectl shows for these kinds (LWS: its CRD, v0.9.0).
_COLUMNS: dict[str, tuple[Column, ...]] = {
    GRAPH_KIND: (("READY", _condition("Ready")), ("STATE", _text("status", "state"))),
    COMPONENT_KIND: (("AVAILABLE", _condition("Available")),),
    DEPLOYMENT: (
        ("READY", _ready_of_replicas),
        ("UP-TO-DATE", _count("status", "updatedReplicas")),
        ("AVAILABLE", _count("status", "availableReplicas")),
    ),
    LWS: (
        ("READY", _count("status", "readyReplicas")),
        ("DESIRED", _count("spec", "replicas")),
        ("UP-TO-DATE", _count("status", "updatedReplicas")),
        ("SIZE", _count("spec", "leaderWorkerTemplate", "size")),
    ),
    POD_GROUP: (
        ("STATUS", _text("status", "phase")),
        ("MINMEMBER", _count("spec", "minMember")),
    ),
    "Service": (("CLUSTER-IP", _text("spec", "clusterIP")), ("SELECTOR", _selector)),
    "StatefulSet": (("READY", _ready_of_replicas),),
    "Pod": (
        ("READY", _pod_ready),
        ("STATUS", _pod_status),
        ("NODE", _text("spec", "nodeName")),
    ),
}


def before_and_after(history: History, excerpt: Excerpt) -> tuple[str, str]:
    """The tables at the start and at the end of an excerpt, each as one text."""
    earlier = history.checkpoint_before(excerpt.checkpoint) if excerpt.checkpoint else None
    before = _printed(history, earlier) or from_state(excerpt.before, now=excerpt.start)
    after = _printed(history, excerpt.checkpoint) or from_state(excerpt.after, now=excerpt.end)
    return before, after


def _printed(history: History, checkpoint: Checkpoint | None) -> str:
    if checkpoint is None:
        return ""
    found: Tables | None = next(
        (t for t in history.tables if t.checkpoint == checkpoint.name), None
    )
    return join(found.text, namespace=history.namespace) if found else ""


def join(text: Mapping[str, str], *, namespace: str) -> str:
    """Printed tables (kind → text) as one text, the graph first, empty tables left out."""
    parts = []
    for kind in sorted({*text, *_ALWAYS}, key=lambda kind: (kinds.place(kind), kind)):
        table = text.get(kind, "").strip("\n")
        if table:
            parts.append(_got(kind, table))
        elif kind in _ALWAYS:
            parts.append(_nothing(kind, namespace))
    return "\n\n".join(parts)


def from_state(state: State, *, now: float) -> str:
    """Tables drawn from recorded objects, with the owner of each. Ages are as of `now`, seconds since
    the epoch."""
    namespace = next((obj.namespace for obj in state if obj.namespace), "")
    parts = []
    for kind in kinds.SHOWN:
        columns = _COLUMNS.get(kind, ())
        objects = sorted(state.of_kind(kind), key=lambda obj: (obj.namespace, obj.name))
        if objects:
            rows = [["NAME", *(name for name, _ in columns), "AGE", "CONTROLLED BY"]]
            for obj in objects:
                owner = describe_owner(state, obj) if obj.owners else "<none>"
                cells = [str(read(obj)) for _, read in columns]
                rows.append([obj.name, *cells, _age(obj, now), owner])
            parts.append(_got(kind, _aligned(rows)))
        elif kind in _ALWAYS:
            parts.append(_nothing(kind, namespace))
    return "\n\n".join(parts)


def _nothing(kind: str, namespace: str) -> str:
    where = f" in {namespace} namespace" if namespace else ""
    return _got(kind, f"No resources found{where}.")


def _got(kind: str, output: str) -> str:
    return f"$ kubectl get {kinds.plural(kind)}\n{output}"


def _age(obj: Obj, now: float) -> str:
    if not obj.created:
        return "<unknown>"
    seconds = max(0, round(now - obj.created))
    return f"{seconds}s" if seconds < 120 else f"{seconds // 60}m{seconds % 60}s"


def _aligned(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
