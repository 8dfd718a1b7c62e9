"""Which cases run, for which operator, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from conformance.model.doors import Door
from conformance.model.features import Feature
from conformance.model.graph import ApiVersion
from conformance.model.profile import Profile
from conformance.plugin.marks import CaseMark, mark_of
from conformance.plugin.run_options import RunOptions

OPERATOR_ARGUMENT = "operator_name"
_SHORT_PER_LONG = 3
_ENOUGH_WORKERS = 4
_DISRUPTIVE_A_ROUND = 2


def parametrize(metafunc: pytest.Metafunc, options: RunOptions) -> None:
    """One run of each case for each operator; ids start with the operator's name."""
    if OPERATOR_ARGUMENT in metafunc.fixturenames:
        names = [loaded.name for loaded in options.operators]
        metafunc.parametrize(OPERATOR_ARGUMENT, names, ids=names, scope="session")


def operator_of(item: pytest.Item) -> str:
    """The operator that an item is parametrised with."""
    callspec: Any = getattr(item, "callspec", None)
    return str(callspec.params[OPERATOR_ARGUMENT])


def order(items: list[pytest.Item], options: RunOptions, *, workers: int = 1) -> None:
    """Operator by operator, and for each the disruptive cases last. Long ones come early, so that
    nobody waits for them at the end, but among others: many graphs at once would starve each other.

    Where the disruptive cases need not wait for the shared control plane to end, and one worker of
    several is theirs, they start some rounds early: one after the other they take longer than the
    rest.
    """
    cases = [(item, mark) for item in items if (mark := mark_of(item)) is not None]
    ordered = [item for item in items if mark_of(item) is None]
    for loaded in options.operators:
        own = [(item, mark) for item, mark in cases if operator_of(item) == loaded.name]
        long = [item for item, mark in own if mark.long and not mark.disruptive]
        short = [item for item, mark in own if not mark.long and not mark.disruptive]
        shared: list[pytest.Item] = []
        while long or short:
            shared += long[:1] + short[:_SHORT_PER_LONG]
            del long[:1], short[:_SHORT_PER_LONG]
        alone = (
            options.cluster.one_cluster
            or loaded.profile.process.fixed_ports
            or workers < _ENOUGH_WORKERS
        )
        disruptive = [item for item, mark in own if mark.disruptive]
        # Each takes about half a round, and their cluster one more to open.
        rounds = 0 if alone else 1 + len(disruptive) // _DISRUPTIVE_A_ROUND
        last = max(0, len(shared) - workers * rounds)
        ordered += [*shared[:last], *disruptive, *shared[last:]]
    items[:] = ordered


def undeclared(item: pytest.Item, mark: CaseMark, profile: Profile) -> list[Feature]:
    """What the case needs and the profile does not declare. A parameter that is an API version, or a
    door of one, needs that version."""
    callspec: Any = getattr(item, "callspec", None)
    values = callspec.params.values() if callspec else ()
    versions = [v.version if isinstance(v, Door) else v for v in values]
    needs = [*mark.needs, *(Feature(v) for v in versions if isinstance(v, ApiVersion))]
    return [feature for feature in needs if not profile.supports(feature)]


def unsupported(item: pytest.Item, mark: CaseMark, profile: Profile) -> str | None:
    """Why the case cannot run; None if it can."""
    missing = undeclared(item, mark, profile)
    if not missing:
        return None
    names = ", ".join(missing)
    return f"unsupported: the profile of {profile.identity.name} does not declare {names}"


def required(missing: Iterable[Feature], profile: Profile) -> bool:
    """True if a run without a case that needs these is partial: the operator has an excuse for none
    of them (`Profile.excuse` is the rule)."""
    return not any(profile.excuse(feature) for feature in missing)
