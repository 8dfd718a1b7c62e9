"""`kubectl get` tables of a checkpoint: as the API server printed them, else drawn from the history."""

from collections.abc import Callable, Mapping

from conformance.evidence import kinds
from conformance.evidence.excerpt import Excerpt
from conformance.history.history import History
from conformance.history.records import Checkpoint
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import DEPLOYMENT, LWS, POD_GROUP
from conformance.model.ownership import describe_owner
from conformance.model.state import Obj, State

# Their absence is evidence, so an empty table of these is printed as kubectl says it.
_ALWAYS = (DEPLOYMENT, LWS)

Column = tuple[str, Callable[[Obj], object]]


def _at(*path: str, empty: object = "<none>") -> Callable[[Obj], object]:
    return lambda obj: obj.at(*path) or empty


def _count(*path: str) -> Callable[[Obj], object]:
    return _at(*path, empty=0)


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
    GRAPH_KIND: (("READY", _condition("Ready")), ("STATE", _at("status", "state"))),
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
    POD_GROUP: (("STATUS", _at("status", "phase")), ("MINMEMBER", _count("spec", "minMember"))),
    "Service": (("CLUSTER-IP", _at("spec", "clusterIP")), ("SELECTOR", _selector)),
    "StatefulSet": (("READY", _ready_of_replicas),),
    "Pod": (("READY", _pod_ready), ("STATUS", _pod_status), ("NODE", _at("spec", "nodeName"))),
}


def before_and_after(history: History, excerpt: Excerpt) -> tuple[str, str]:
    """The tables at the start and at the end of an excerpt, each as one text."""
    earlier = history.checkpoint_before(excerpt.checkpoint) if excerpt.checkpoint else None
    before = _printed(history, earlier) or from_state(excerpt.before, now=excerpt.start)
    after = _printed(history, excerpt.checkpoint) or from_state(excerpt.after, now=excerpt.end)
    return before, after


def _printed(history: History, checkpoint: Checkpoint | None) -> str:
    for tables in history.tables:
        if checkpoint is not None and tables.checkpoint == checkpoint.name:
            return join(tables.text, namespace=history.namespace)
    return ""


def join(text: Mapping[str, str], *, namespace: str) -> str:
    """Printed tables (kind → text) as one text, the graph first, empty tables left out."""
    where = f" in {namespace} namespace" if namespace else ""
    parts = []
    for kind in sorted({*text, *_ALWAYS}, key=lambda kind: (kinds.place(kind), kind)):
        table = text.get(kind, "").strip("\n")
        if not table and kind in _ALWAYS:
            table = f"No resources found{where}."
        if table:
            parts.append(f"$ kubectl get {kinds.plural(kind)}\n{table}")
    return "\n\n".join(parts)


def from_state(state: State, *, now: float) -> str:
    """Tables drawn from recorded objects. Ages are as of `now`, seconds since the epoch."""
    namespace = next((obj.namespace for obj in state if obj.namespace), "")
    drawn = {kind: _drawn(state, kind, now) for kind in kinds.SHOWN if state.of_kind(kind)}
    return join(drawn, namespace=namespace)


def _drawn(state: State, kind: str, now: float) -> str:
    columns = _COLUMNS.get(kind, ())
    rows = [["NAME", *(name for name, _ in columns), "AGE", "CONTROLLED BY"]]
    for obj in sorted(state.of_kind(kind), key=lambda obj: (obj.namespace, obj.name)):
        cells = [str(read(obj)) for _, read in columns]
        owner = describe_owner(state, obj) if obj.owners else "<none>"
        rows.append([obj.name, *cells, _age(obj, now), owner])
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = (map(str.ljust, row, widths) for row in rows)
    return "\n".join("   ".join(line).rstrip() for line in lines)


def _age(obj: Obj, now: float) -> str:
    if not obj.created:
        return "<unknown>"
    seconds = max(0, round(now - obj.created))
    return f"{seconds}s" if seconds < 120 else f"{seconds // 60}m{seconds % 60}s"
