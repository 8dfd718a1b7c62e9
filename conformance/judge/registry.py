"""Every checker by its name: the module of that name in `checks/`, and what judges a whole run."""

from __future__ import annotations

import importlib
from functools import partial

from conformance.history.records import Scope
from conformance.judge.case import Case, Check
from conformance.judge.findings import CheckResult, finding
from conformance.judge.run import leftovers, soak, storms
from conformance.model.verdict import CheckerName, Verdict


def _module_check(name: CheckerName) -> Check:
    module = importlib.import_module(f"conformance.judge.checks.{name.module}")
    check: Check = module.check
    return check


CHECKERS: dict[CheckerName, Check] = {name: _module_check(name) for name in CheckerName}
"""In the order in which a person wants to read them, which is that of the names."""

RUN_CHECKERS: dict[Scope, dict[CheckerName, Check]] = {
    Scope.SOAK: {
        **{name: partial(soak.check_state, name=name) for name in soak.STATE_CHECKERS},
        CheckerName.QUIESCENCE: soak.check_writes,
    },
    Scope.RUN: {CheckerName.ORPHANS: leftovers.check, CheckerName.QUIESCENCE: storms.check},
}
"""For histories of a whole run, by what of it they are of."""


def run_checked(name: CheckerName, check: Check, case: Case) -> CheckResult:
    """Run a checker; its own crash becomes an UNKNOWN finding, never a pass."""
    try:
        return check(case)
    except Exception as error:  # a crash proves nothing about the operator, so it must not pass
        text = (
            f"checker {name} crashed on this history: {type(error).__name__}: {error}; "
            "keep the history and report it as a bug of the suite"
        )
        crashed = finding(name, Verdict.UNKNOWN, f"checker/{name}", text)
        return CheckResult(checker=name, findings=(crashed,))
