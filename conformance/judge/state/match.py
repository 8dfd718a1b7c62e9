"""Does a state match what is wanted? The one question of the driver, several times a second."""

from __future__ import annotations

from collections.abc import Callable

from conformance.judge.state.base import Mismatch, Sight
from conformance.judge.state.blocked import blocked_in
from conformance.judge.state.coexistence import coexistence
from conformance.judge.state.gangs import gangs
from conformance.judge.state.observed import unobserved
from conformance.judge.state.orphans import orphans
from conformance.judge.state.progress import progress
from conformance.judge.state.rollout import rollout
from conformance.judge.state.selectors import selectors
from conformance.judge.state.size import size
from conformance.judge.state.status import false_claims, unready
from conformance.judge.state.view import View
from conformance.model.verdict import CheckerName

Rule = Callable[[View], list[Mismatch]]

# In the order in which a person wants to hear of them.
STRUCTURE: tuple[Rule, ...] = (coexistence, size, rollout, gangs, orphans, selectors)
STATUS: tuple[Rule, ...] = (unready, false_claims)


def mismatches(sight: Sight) -> list[Mismatch]:
    """Everything that keeps the state from matching what is wanted. Empty: it matches."""
    return [row for row in mismatches_in(View(sight)) if not row.soft]


def mismatches_in(view: View) -> list[Mismatch]:
    """Everything that is not as it should be, soft rows included."""
    return [row for rule in (*STRUCTURE, *STATUS) for row in rule(view)]


def blocked_mismatches(sight: Sight) -> list[Mismatch]:
    """Everything that is wrong with a state whose target cannot be reached (design §10): two
    workloads, an untrue status, growth without bound, orphans."""
    return [row for row in blocked_in(View(sight)) if not row.soft]


def of_checker(rows: list[Mismatch], checker: CheckerName) -> list[Mismatch]:
    """Only the mismatches that this checker reports."""
    return [row for row in rows if row.checker is checker]


__all__ = [
    "blocked_mismatches",
    "mismatches",
    "mismatches_in",
    "of_checker",
    "progress",
    "unobserved",
]
