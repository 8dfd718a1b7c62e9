"""Selectors: each component Service selects its own ready routable pods, and nobody else's."""

from functools import partial

from conformance.judge.sentences import check_mismatches
from conformance.model.verdict import CheckerName

check = partial(check_mismatches, checker=CheckerName.SELECTORS)
"""What `judge.state.selectors` finds."""
