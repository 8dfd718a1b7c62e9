"""The suite's own errors. A wrong operator is a finding; it becomes an exception only for pytest.

ConformanceError
├── UsageError   the user asked for something that cannot be done (exit 4, one sentence)
└── InfraError   the suite could not tell, because something under it failed (verdict `unknown`)
AssertionError
└── Violation    how gating findings reach pytest, raised once at the end of a case
"""

from __future__ import annotations


class ConformanceError(Exception):
    """Base of every error that the suite raises on purpose."""


class UsageError(ConformanceError):
    """A mistake in options, profile or files: what is wrong, where, what was expected, what now."""


class InfraError(ConformanceError):
    """The platform under the suite failed (a process died, a request timed out): no proof."""


class Violation(AssertionError):  # noqa: N818 - a verdict, not an error of the suite
    """The operator is wrong. Its text is the explanation: one sentence first, evidence after.

    An AssertionError, so that pytest and Allure count it as a defect of the product (failed) and
    not of the test (broken).
    """
