"""Which cases run, for which operator, and in which order."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.model.doors import Door
from conformance.model.graph import ApiVersion
from conformance.model.profile import Feature, Profile
from conformance.plugin.marks import CaseMark, mark_of
from conformance.plugin.run_options import RunOptions

OPERATOR_ARGUMENT = "operator_name"


def parametrize(metafunc: pytest.Metafunc, options: RunOptions) -> None:
    """One run of each case for each operator; ids start with the operator's name."""
    if OPERATOR_ARGUMENT in metafunc.fixturenames:
        names = [loaded.name for loaded in options.operators]
        metafunc.parametrize(OPERATOR_ARGUMENT, names, ids=names, scope="session")


def operator_of(item: pytest.Item) -> str:
    """The operator that an item is parametrised with."""
    callspec: Any = getattr(item, "callspec", None)
    return str(callspec.params[OPERATOR_ARGUMENT])


def order(items: list[pytest.Item], options: RunOptions) -> None:
    """Operator by operator, and for each the long cases first and the disruptive ones last."""
    rank = {loaded.name: index for index, loaded in enumerate(options.operators)}

    def key(item: pytest.Item) -> tuple[int, bool, bool]:
        mark = mark_of(item)
        if mark is None:
            return -1, False, False
        return rank[operator_of(item)], mark.disruptive, not mark.long

    items.sort(key=key)


def unsupported(item: pytest.Item, mark: CaseMark, profile: Profile) -> str | None:
    """Why the operator need not pass this case; None if it must. A parameter that is an API version,
    or a door of one, needs that version."""
    callspec: Any = getattr(item, "callspec", None)
    values = callspec.params.values() if callspec else ()
    versions = [v.version if isinstance(v, Door) else v for v in values]
    needs = [*mark.needs, *(Feature(v) for v in versions if isinstance(v, ApiVersion))]
    missing = [feature for feature in needs if not profile.supports(feature)]
    if not missing:
        return None
    names = ", ".join(missing)
    return f"unsupported: the profile of {profile.identity.name} does not declare {names}"
