"""The suite's own errors. A wrong operator is never an exception here: it is a finding.

ConformanceError
├── UsageError   the user asked for something that cannot be done (exit 4, one sentence)
└── InfraError   the suite could not tell, because something under it failed (verdict `unknown`)
"""

from __future__ import annotations


class ConformanceError(Exception):
    """Base of every error that the suite raises on purpose."""


class UsageError(ConformanceError):
    """A mistake in options, profile or files: what is wrong, where, what was expected, what to do."""


class InfraError(ConformanceError):
    """The platform under the suite failed (a process died, a request timed out): nothing is proven."""
