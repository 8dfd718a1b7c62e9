"""Judgements of a whole run: they stand beside the cases in its report, and no test is behind them."""

from __future__ import annotations

import enum

PREFIX = "run/"
"""How the ids of all of them begin; no case's does."""
FEATURE = "whole run"


class RunCase(enum.StrEnum):
    """What is judged once all cases on a control plane have ended, in the order in which it is."""

    REST = "run/rest_until_the_end"
    NOTHING_LEFT = "run/nothing_left_elsewhere"

    @property
    def sentence(self) -> str:
        """The sentence that the operator is held to."""
        return _TITLES[self]


_TITLES = {
    RunCase.REST: "What had come to rest in its case stays as it was until the end of the run.",
    RunCase.NOTHING_LEFT: "Once every graph is gone the operator leaves only retained objects, and "
    "is at rest.",
}
