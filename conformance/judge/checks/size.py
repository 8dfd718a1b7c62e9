"""Size: groups, size, pods and gang minimum as the graph says, at each checkpoint."""

from functools import partial

from conformance.judge.sentences import check_mismatches
from conformance.model.verdict import CheckerName

check = partial(check_mismatches, checker=CheckerName.SIZE)
"""What `judge.state.size` finds."""
