"""Does a state match what is wanted? The one question of the driver, several times a second."""

from __future__ import annotations

from collections.abc import Callable

from conformance.model.verdict import CheckerName
from conformance.rules.base import Mismatch, Sight
from conformance.rules.blocked import blocked_in
from conformance.rules.coexistence import coexistence
from conformance.rules.gangs import gangs
from conformance.rules.observed import unobserved
from conformance.rules.orphans import orphans
from conformance.rules.progress import progress
from conformance.rules.rollout import rollout
from conformance.rules.selectors import selectors
from conformance.rules.size import size
from conformance.rules.status import false_claims, unready
from conformance.rules.view import View

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
