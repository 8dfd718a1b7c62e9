"""The cases of a run, as one process collected them and the controller must know them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pydantic import BaseModel

from conformance.plugin import collection
from conformance.plugin.marks import case_id, mark_of, title_of
from conformance.plugin.run_options import RunOptions
from conformance.report.model import CaseResult, NotRun

_FILE = "cases.json"


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
            item.nodeid: f"disruptive-{collection.operator_of(item)}"
            for item in items
            if (mark := mark_of(item)) is not None and mark.disruptive
        }
        return cls(cases=[*_places(items, options), *left_out], groups=groups)

    @property
    def any_selected(self) -> bool:
        return any(case.not_run is not NotRun.DESELECTED for case in self.cases)

    def publish(self, directory: Path) -> None:
        """Tell the controller, which is another process."""
        part = directory / f"{_FILE}.{os.getpid()}"
        part.write_text(self.model_dump_json())
        part.rename(directory / _FILE)

    @classmethod
    def published(cls, directory: Path) -> Collected | None:
        """What the workers collected; None if none has."""
        path = directory / _FILE
        return cls.model_validate_json(path.read_text()) if path.exists() else None


def _places(items: list[pytest.Item], options: RunOptions) -> list[CaseResult]:
    places = []
    for item in items:
        mark = mark_of(item)
        if mark is None:
            continue
        operator = collection.operator_of(item)
        profile = options.operator(operator).profile
        reason = collection.unsupported(item, mark, profile)
        missing = collection.undeclared(item, mark, profile)
        places.append(
            CaseResult(
                id=case_id(item), feature=mark.feature, title=title_of(item), operator=operator,
                nodeid=item.nodeid, not_run=NotRun.UNSUPPORTED if reason else None,
                reason=reason or "", required=collection.required(missing, profile),
            )
        )  # fmt: skip
    return places
