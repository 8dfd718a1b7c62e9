"""Every checker by its name, in the order in which a person wants to read them."""

from __future__ import annotations

from conformance.history.records import Scope
from conformance.judge.checks import (
    availability,
    coexistence,
    deletion,
    equivalence,
    fidelity,
    foreign,
    leftovers,
    operator_health,
    orphans,
    quiescence,
    refusal,
    restart,
    selectors,
    size,
    soak,
    status_truth,
    storms,
    validity,
)
from conformance.judge.checks.base import CheckFunction
from conformance.model.verdict import CheckerName

RUN_CHECKERS: dict[Scope, dict[CheckerName, CheckFunction]] = {
    Scope.SOAK: {**soak.STATE_CHECKERS, CheckerName.QUIESCENCE: soak.check_writes},
    Scope.RUN: {CheckerName.ORPHANS: leftovers.check, CheckerName.QUIESCENCE: storms.check},
}
"""For histories of a whole run, by what of it they are of."""

CHECKERS: dict[CheckerName, CheckFunction] = {
    CheckerName.COEXISTENCE: coexistence.check,
    # Early, since of all that may follow a refusal it says best what is wrong.
    CheckerName.REFUSAL: refusal.check,
    CheckerName.ORPHANS: orphans.check,
    CheckerName.SIZE: size.check,
    CheckerName.SELECTORS: selectors.check,
    CheckerName.STATUS_TRUTH: status_truth.check,
    CheckerName.FOREIGN: foreign.check,
    CheckerName.DELETION: deletion.check,
    CheckerName.QUIESCENCE: quiescence.check,
    CheckerName.AVAILABILITY: availability.check,
    CheckerName.FIDELITY: fidelity.check,
    CheckerName.EQUIVALENCE: equivalence.check,
    CheckerName.RESTART: restart.check,
    CheckerName.OPERATOR_HEALTH: operator_health.check,
    CheckerName.VALIDITY: validity.check,
}
