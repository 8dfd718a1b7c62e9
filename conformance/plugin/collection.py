"""Which cases run, for which operator, in which order; and what the controller learns of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from pydantic import BaseModel

from conformance.model.doors import Door
from conformance.model.features import Feature
from conformance.model.graph import ApiVersion
from conformance.model.profile import Profile
from conformance.plugin.marks import CaseMark, case_id, mark_of, title_of
from conformance.plugin.run_options import RunOptions
from conformance.report.model import CaseResult, NotRun

OPERATOR_ARGUMENT = "operator_name"
_SHORT_PER_LONG = 3
_ENOUGH_WORKERS = 4
_DISRUPTIVE_A_ROUND = 2
_FILE = "cases.json"


def _cases(items: Iterable[pytest.Item]) -> list[tuple[pytest.Item, CaseMark]]:
    return [(item, mark) for item in items if (mark := mark_of(item)) is not None]


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
    cases = _cases(items)
    ordered = [item for item in items if mark_of(item) is None]
    for loaded in options.operators:
        own = [(item, mark) for item, mark in cases if operator_of(item) == loaded.name]
        # One that spins would disturb those that come after it.
        calm_first = sorted(own, key=lambda case: bool(case[1].may_spin))
        disruptive = [item for item, mark in calm_first if mark.disruptive]
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


class Collected(BaseModel):
    """The places of all cases in the report, so that a lost one is missed. Under pytest-xdist only
    workers collect; each publishes the same."""

    cases: list[CaseResult] = []
    groups: dict[str, str] = {}
    """Node id → group, for cases that must run on one worker."""

    @classmethod
    def of(
        cls, items: list[pytest.Item], deselected: list[pytest.Item], options: RunOptions
    ) -> Collected:
        """What was selected, and what the person who runs the suite left out: such a run is partial."""
        left_out = [
            case.model_copy(update={"not_run": NotRun.DESELECTED, "reason": "deselected"})
            for case in _places(deselected, options)
            if case.not_run is None
        ]
        groups = {
            item.nodeid: f"disruptive-{operator_of(item)}"
            for item, mark in _cases(items)
            if mark.disruptive
        }
        return cls(cases=[*_places(items, options), *left_out], groups=groups)

    @property
    def any_selected(self) -> bool:
        return any(case.not_run is not NotRun.DESELECTED for case in self.cases)

    def publish(self, options: RunOptions) -> None:
        """Tell the controller, which is another process."""
        options.publish(_FILE, self.model_dump_json())

    @classmethod
    def published(cls, options: RunOptions) -> Collected | None:
        """What the workers collected; None if none has."""
        path = options.live / _FILE
        return cls.model_validate_json(path.read_text()) if path.exists() else None


def _places(items: list[pytest.Item], options: RunOptions) -> list[CaseResult]:
    places = []
    for item, mark in _cases(items):
        profile = options.operator(operator_of(item)).profile
        reason = unsupported(item, mark, profile)
        places.append(
            CaseResult(
                id=case_id(item), feature=mark.feature, title=title_of(item),
                operator=operator_of(item), nodeid=item.nodeid, reason=reason or "",
                not_run=NotRun.UNSUPPORTED if reason else None,
                required=required(undeclared(item, mark, profile), profile),
            )
        )  # fmt: skip
    return places
