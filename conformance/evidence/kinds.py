"""Kinds as evidence shows them: in which order, by which name, and which are left out."""

from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND
from conformance.model.kinds import PLATFORM_KINDS, POD_GROUP, STATEFUL_SET, WORKLOADS
from conformance.model.profile import Profile

_WORKLOADS = [row.kind for row in WORKLOADS.values() if not row.when_declared]
SHOWN = (GRAPH_KIND, COMPONENT_KIND, *_WORKLOADS, POD_GROUP, "Service", STATEFUL_SET, "Pod")
"""What the user asked for first, and what follows from it last."""
QUIET = frozenset(PLATFORM_KINDS.keys() - set(SHOWN)) | {"Event", "PodMetrics"}
"""Kinds whose every write would drown the rest; the history has them."""


def place(kind: str) -> int:
    """Where a kind stands among others; those that are not in `SHOWN` come last."""
    return SHOWN.index(kind) if kind in SHOWN else len(SHOWN)


def asked_for(kind: str, profile: Profile) -> bool:
    """True for a kind that operators make; others the platform makes below a workload."""
    own = kind not in PLATFORM_KINDS or kind == profile.single_node.kind
    return own and kind in SHOWN


def plural(kind: str) -> str:
    """`leaderworkersets`, as kubectl names them."""
    lower = kind.lower()
    if lower.endswith("y"):
        return f"{lower[:-1]}ies"
    return f"{lower}es" if lower.endswith(("s", "x")) else f"{lower}s"
