"""Ways to be right: an operator may take its time, make room first, or name anew what it makes."""

import time
from enum import StrEnum

from .objects import Object, digest, generation_of, is_terminating, uid_of

SLOW_SECONDS = 8.0
"""From a component's new generation until something is done about it."""


class Manner(StrEnum):
    """How a change is carried out."""

    USUAL = "usual"
    """At once, new before old, under names that stay."""
    SLOW = "slow"
    BREAK_BEFORE_MAKE = "break-before-make"
    """The workload of the other kind goes, with all its pods, before the new one is made."""
    HASHED_NAMES = "hashed-names"
    """Workloads and gang objects carry a hash of what they run, but for the replicas. The old ones
    go once the new ones are ready."""
    NO_COMPONENTS = "no-components"
    """The graph owns workloads, gang objects and Services itself."""


class Pace:
    """When a slow operator looks at a component. One thread at a time works on each."""

    def __init__(self, manner: Manner) -> None:
        self._slow = manner is Manner.SLOW
        self._looks_at: dict[tuple[str, int, bool], float] = {}

    def left(self, component: Object) -> float:
        """Seconds for which this generation of it is still left alone."""
        if not self._slow:
            return 0.0
        seen = (uid_of(component), generation_of(component), is_terminating(component))
        now = time.monotonic()
        return self._looks_at.setdefault(seen, now + SLOW_SECONDS) - now


def hashed(name: str, spec: Object) -> str:
    """The name of a workload of that spec: another one once anything but its replicas changes."""
    kept = {key: value for key, value in spec.items() if key != "replicas"}
    return f"{name}-{digest(kept)[:8]}"
