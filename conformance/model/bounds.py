"""Every time limit and count of the suite: one name, one reason, one default, in this one place."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

JOIN_WINDOW = 1.5
"""Seconds by which the recorder may see a watch event before or after the API's answer that it follows
from: where a request and a change are joined by time."""

BORN_LATE = 0.3
"""Seconds from the request that made an object until the object is seen, at most."""

ARRIVAL_SLACK = 5.0
"""Seconds by which events of one history may be out of order in time; a look back stops beyond it."""

FIRST_PASS = 2.0
"""Seconds that an operator which just started may take to look at each object of a case once, from its
first request there: 0.5 s were measured of builds with one graph."""

SPIN = 4.0
"""Requests for one object, in multiples of `write_rate`, that no progress of the platform explains:
following three pods of a group to readiness was seen to take six status writes in 5 s."""

REST_EDGE = 0.05
"""Seconds by which the end of an overlap may arrive after the driver saw the state match: it is the end
of the transition then, not a part of the rest."""

FULL_HOLD = 0.9
"""The part of a hold window that must have been recorded after a refusal: the driver polls, so that a
window may be a poll short."""

RESTART_EDGE = 1.0
"""Seconds by which an operator's end or start may be noted before the step that asked for it: two
processes write the two."""

LEASE_UNUSED = 60.0
"""Seconds after which a Lease that nobody renewed is held by nobody: the longest common
duration is 15 s for leaders and 40 s for nodes."""


REQUEST_AT_EASE = 0.25
"""Seconds in which an API server at ease answers a small read. One that takes longer has that much less
time for the operator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds of a run. All times are seconds. The defaults are part of the conformance claim:
    a run with others is marked, and its report is not conformant (`deviations`)."""

    deadline: float = 30.0
    """From the API's answer to the first instant at which everything matches and is observed.
    Real builds needed 0.2-8.5 s on a busy machine."""

    follow: float = 10.0
    """From what the platform did last (a pod, a StatefulSet, the status of a workload) until the
    operator has followed: on a machine under load 8-20 a LeaderWorkerSet alone took 25 of the 30 s,
    and that is not the operator's time. It moves the deadline to at most twice its length."""

    patience: float = 4.0
    """How many deadlines a wait may last while the operator has not had its turn for one: with two busy
    processes a core beside it, it gets a third of a processor."""

    hold: float = 5.0
    """How long the matching state must then stay, without a counted write. A real operator was seen
    idle for 4 s in mid-work, so less proves nothing."""

    arrange_hold: float = 1.5
    """Quiet time that ends an arranging step (a deploy that is not itself judged): only the baseline
    of the next step, whose own hold window is the full one."""

    deletion_deadline: float = 45.0
    """From the accepted delete until nothing but retained objects is left. Foreground deletion of a
    real build took 9-13 s on a busy machine; nothing is called an orphan before this."""

    claim_window: float = 2.0
    """Ready may be taken back if anything contradicted it this long before: the operator reads from a
    cache that may lag. (A claim of Ready is judged by what the operator had done, not by time.)"""

    create_after_delete: float = 2.0
    """Creates by the operator this soon after a deletion were already on their way: reported only, if
    each object is made no more than once and goes again."""

    write_rate: float = 1.0
    """Mutating requests a second that the operator may make over the hold window, no-ops included,
    for each graph or bare component of the case: a slow heartbeat of eight is no storm."""

    out_of_order: float = 0.4
    """Events of different kinds arrived up to 0.29 s out of order on a busy machine; where revision
    order does not hold, claims shorter than this are unknown."""

    recorder_lag: float = 5.0
    """How long the recorder may need to show what a list already showed; after that it is a gap."""

    poll: float = 0.2
    """Pause between two looks of the driver at the recorded state. Polling only decides when to stop
    looking, so it bounds the cost and never the verdict."""

    request: float = 10.0
    """One API request of the suite, connection included."""

    install: float = 60.0
    """From the start of the operator to its readiness."""

    warm_up: float = 60.0
    """From readiness to the first throw-away graph being settled: /readyz was seen to say ok up to
    8 s before the first reconcile."""

    race_tries: int = 8
    """How often a race is tried, leaning each way: one pass proves nothing."""

    def requests(self, seconds: float, *, served: int) -> float:
        """How many mutating requests an operator may make in that time, at rest, that serves so many
        graphs and bare components."""
        return self.write_rate * seconds * max(1, served)

    def scaled(self, factor: float) -> Bounds:
        """These bounds for a machine `factor` times slower. Proofs (hold) stay as they are, and a
        factor below 1 hurries the operator alone, not the platform under it."""
        scaled = {"deadline", "deletion_deadline", "follow"}
        if factor > 1:
            scaled |= {"recorder_lag", "request", "install", "warm_up"}
        return dataclasses.replace(self, **{name: getattr(self, name) * factor for name in scaled})

    def deviations(self) -> dict[str, tuple[float, float]]:
        """Bounds that differ from the defaults: name → (this, default). Empty for a conformant run."""
        default = Bounds()
        return {
            field.name: (getattr(self, field.name), getattr(default, field.name))
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != getattr(default, field.name)
        }

    def to_json(self) -> dict[str, Any]:
        """Plain data for the history's header and the report."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Bounds:
        """The bounds that a stored history was judged with."""
        return cls(**data)
