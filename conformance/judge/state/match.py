"""Does a state match what is wanted? The one question of the driver, several times a second."""

from __future__ import annotations

from collections.abc import Callable

from conformance.judge.mismatch import Mismatch
from conformance.judge.snapshot import Snapshot
from conformance.judge.state.blocked import blocked
from conformance.judge.state.claims import false_claims
from conformance.judge.state.coexistence import coexistence
from conformance.judge.state.gangs import gangs
from conformance.judge.state.observed import unobserved
from conformance.judge.state.orphans import orphans
from conformance.judge.state.rollout import rollout
from conformance.judge.state.selectors import selectors
from conformance.judge.state.size import size
from conformance.judge.state.status import unready

Rule = Callable[[Snapshot], list[Mismatch]]

# In the order in which a person wants to hear of them.
RULES: tuple[Rule, ...] = (
    coexistence, size, rollout, gangs, orphans, selectors, unready, false_claims,
)  # fmt: skip


def mismatches(snapshot: Snapshot) -> list[Mismatch]:
    """Everything that keeps the state from matching what is wanted. Empty: it matches."""
    return [row for rule in RULES for row in rule(snapshot) if not row.soft]


def blocked_mismatches(snapshot: Snapshot) -> list[Mismatch]:
    """Everything that is wrong with a state whose target cannot be reached: two workloads, an untrue
    status, growth without bound, orphans."""
    return [row for row in blocked(snapshot) if not row.soft]


def mismatches_at(snapshot: Snapshot, *, blocked_target: bool) -> list[Mismatch]:
    """Everything that is not as it should be at a checkpoint, soft rows included."""
    if blocked_target:
        return blocked(snapshot)
    return [row for rule in (*RULES, unobserved) for row in rule(snapshot)]
