"""Judgements of a whole run: its report lists them beside the cases, and no test is behind them."""

from conformance.model.explained import Explained

PREFIX = "run/"
"""How their ids begin; no case's id does."""
FEATURE = "whole run"


class RunCase(Explained):
    """What is judged, in this order, once all cases on a cluster have ended. The meaning is the
    sentence that the operator is held to."""

    REST = (
        "run/rest_until_the_end",
        "What had come to rest in its case stays as it was until the end of the run.",
    )
    NOTHING_LEFT = (
        "run/nothing_left_elsewhere",
        "Once every graph is gone the operator leaves only retained objects, and is at rest.",
    )
