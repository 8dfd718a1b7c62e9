"""What a history is made of: one dataclass a kind of record, each a line of JSON on disk.

Times are seconds since the epoch, revisions are etcd's (metadata.resourceVersion).
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from conformance.history.lines import LineFormat
from conformance.history.upgrade import FORMAT
from conformance.model.graph import Graph
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind


class EventType(enum.StrEnum):
    """What the recorder saw happen to an object."""

    LISTED = "LISTED"
    """Already there when the recorder (re-)listed its kind."""
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change of one object. For DELETED, `revision` is that of the deletion itself and the
    object is its last state."""

    record: Literal["event"] = "event"
    type: EventType
    revision: int
    at: float
    object: Mapping[str, Any]

    @property
    def obj(self) -> Obj:
        """The object as of this event."""
        return Obj(self.object)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A stretch in which changes may have been missed. `kind` empty means every kind."""

    record: Literal["gap"] = "gap"
    at: float
    reason: str
    kind: str = ""
    from_revision: int = 0
    to_revision: int = 0
    """The revision of the list that closed the gap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """A kind of which nothing is recorded, because the suite may not list and watch it: that a history
    has none of its objects proves nothing."""

    record: Literal["unseen"] = "unseen"
    at: float
    kind: str
    group: str
    resource: str
    """As in `leaderworkersets.leaderworkerset.x-k8s.io`."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One mutating request as the API server's audit log has it, whoever made it."""

    record: Literal["write"] = "write"
    at: float
    """When the response was complete."""
    received_at: float
    verb: str
    user: str
    agent: str
    group: str
    resource: str
    """Plural, such as `deployments`."""
    subresource: str
    namespace: str
    name: str
    code: int
    reason: str = ""
    """The Status reason or message of a failed request, as far as the log has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """A short stretch of time, and whether the operator could work for this namespace in it. Shares are
    of the stretch, from 0 to 1."""

    record: Literal["load"] = "load"
    at: float
    """Its end."""
    seconds: float
    operator: float = 1.0
    """Share of the processor time it asked for that the operator got; 1 if it asked for none."""
    platform: float = 1.0
    """The same of that part of the control plane which got least."""
    request: float = 0.0
    """Seconds that the API server took to answer a small read."""
    here: int = 0
    """Requests of the operator about this namespace."""
    elsewhere: int = 0
    """Requests of the operator about others."""


class Expect(enum.StrEnum):
    """What a step is allowed to end as, before the profile's promise narrows it."""

    PROMISE = "promise"
    """Reconcile or refuse, as the profile promises for its kinds of change."""
    RECONCILE = "reconcile"
    REFUSE = "refuse"
    BLOCKED = "blocked"
    """The target cannot be reached: refused, or truthfully not Ready and stable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing the suite did, with the API's answer.

    `target` is the graph's (or component's) name; `before`/`after` the graph as meant, None when it
    does not exist. `judged` False marks arranging. `generation_*` and `revision_*` are metadata of
    the target as answered; 0 when there is none. `code` 0: no request was made (operator steps).
    `door` is as printed; `component` True: the request went to a component (DCD), not the graph.
    """

    record: Literal["step"] = "step"
    name: str
    kinds: tuple[ChangeKind, ...]
    target: str
    target_kind: str
    namespace: str
    judged: bool
    expect: Expect
    door: str
    request: Mapping[str, Any]
    sent_at: float
    answered_at: float
    code: int
    answer: Mapping[str, Any] = field(default_factory=dict)
    """On failure the API's Status object, on success metadata of the stored object."""
    before: Graph | None = None
    after: Graph | None = None
    services: tuple[str, ...] = ()
    component: bool = False
    moves_generation: bool = True
    generation_before: int = 0
    generation_after: int = 0
    revision_before: int = 0
    revision_after: int = 0
    race: bool = False
    propagation: str = ""
    """For deletes: Background or Foreground."""

    @property
    def accepted(self) -> bool:
        """True if the API answered 2xx."""
        return 200 <= self.code < 300

    @property
    def moved(self) -> bool:
        """True if the answer shows a new generation of the target."""
        return self.generation_after != self.generation_before


class CheckpointEnd(enum.StrEnum):
    """Why the driver stopped looking."""

    HELD = "held"
    """Everything matched and stayed for the hold window."""
    DEADLINE = "deadline"
    """The operator had its turn for so long, and the state did not match, or did not stay."""
    LATE = "late"
    """The state did not match, and the operator had no turn of that length: it waited for a processor,
    or worked for others. Proves nothing."""
    INTERRUPTED = "interrupted"
    """The operator or the platform died, or the run was stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint: the driver stopped looking and the steps since the last one are judged.

    `graphs` are the graphs that must exist now, `components` the bare components (a one-service
    Graph whose name is the component's), each as the last accepted step left them. `since` is the
    API's answer to the last step. `reached_at` is the first instant from which the state matched
    without interruption until `at`, None if it did not. `verified` maps each kind listed at the end
    to the list's revision; a kind whose list disagreed with the record is in `disagreed`.
    """

    record: Literal["checkpoint"] = "checkpoint"
    name: str
    at: float
    since: float
    end: CheckpointEnd
    revision: int
    graphs: tuple[Graph, ...]
    components: tuple[Graph, ...] = ()
    judged: bool = True
    reached_at: float | None = None
    hold: float = 0.0
    deadline: float = 0.0
    turn: float | None = None
    """Seconds of the wait in which the operator had its turn (`history.load`); None: not measured."""
    blocked: bool = False
    verified: Mapping[str, int] = field(default_factory=dict)
    disagreed: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    """Names of the steps that this checkpoint judges."""


class OperatorEventKind(enum.StrEnum):
    """What happened to the operator itself."""

    STARTED = "started"
    READY = "ready"
    STOPPED = "stopped"
    """By the suite, on purpose."""
    KILLED = "killed"
    """By the suite, on purpose, with SIGKILL."""
    EXITED = "exited"
    """By itself: never planned."""
    PANIC = "panic"
    """A crash line in its log."""
    LOG = "log"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorEvent:
    """Something that happened to the operator process, or one line of its log."""

    record: Literal["operator"] = "operator"
    kind: OperatorEventKind
    at: float
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """An object of others that the case put beside the graph and that must stay as it is."""

    record: Literal["foreign"] = "foreign"
    uid: str
    kind: str
    namespace: str
    name: str
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fresh:
    """The settled objects of a fresh deploy of a graph, to compare a transitioned one with.

    `graph` is what was deployed (name included), `namespace` where. `problem` is set when no fresh
    state could be had; equivalence is then unknown.
    """

    record: Literal["fresh"] = "fresh"
    graph: Graph
    namespace: str
    objects: tuple[Mapping[str, Any], ...] = ()
    problem: str = ""
    late: bool = False
    """The problem is that the operator had not had its turn; see `CheckpointEnd.LATE`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """`kubectl get`-style tables as the API server printed them at one checkpoint, for people."""

    record: Literal["tables"] = "tables"
    checkpoint: str
    at: float
    text: Mapping[str, str]
    """Kind → printed table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Soak:
    """A case that conformed, and what it left standing when it ended at rest.

    `revision` and `at` are those of its last checkpoint, `graphs` and `components` what must
    exist since then. `others` are uids of what is none of the operator's business there.
    """

    record: Literal["soak"] = "soak"
    case: str
    namespace: str
    at: float
    revision: int
    graphs: tuple[Graph, ...]
    components: tuple[Graph, ...] = ()
    blocked: bool = False
    others: tuple[str, ...] = ()


class Scope(enum.StrEnum):
    """What a history is of."""

    CASE = "case"
    SOAK = "soak"
    """The end of a run, as long as the graphs of cases that conform still stand."""
    RUN = "run"
    """The end of a run, once every graph is gone: whatever is still there, anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of a stored history: what was run, against what, judged by which bounds.

    `profile` and `bounds` are plain data of Profile and Bounds.
    `total_order` says that one etcd numbers all kinds, so revision order is history.
    """

    record: Literal["header"] = "header"
    case: str
    feature: str
    title: str
    operator: str
    namespace: str
    profile: Mapping[str, Any]
    bounds: Mapping[str, Any]
    versions: Mapping[str, str] = field(default_factory=dict)
    total_order: bool = True
    audited: bool = True
    race: bool = False
    scope: Scope = Scope.CASE
    users: Mapping[str, str] = field(default_factory=dict)
    """User name in the audit log → actor (`operator`, `LWS controller`, `Kubernetes`, `suite`)."""
    started_at: float = 0.0
    format: int = FORMAT
    """Of the stored history; `history/upgrade.py` reads older ones."""


Record = (
    Header
    | Event
    | Gap
    | Unseen
    | Write
    | Load
    | Step
    | Checkpoint
    | OperatorEvent
    | Foreign
    | Fresh
    | Tables
    | Soak
)

JSON_LINES: LineFormat[Record] = LineFormat(Record)
"""How records are stored: in histories, in journals, and in the live record of a namespace."""
