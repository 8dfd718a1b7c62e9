"""Errors of the suite. A wrong operator is a finding; it becomes an exception for pytest alone.

ConformanceError
├── UsageError   a mistake of the user (exit code 4, one sentence)
└── InfraError   a failure below the suite, which therefore proves nothing (verdict `unknown`)
AssertionError
└── Violation    how gating findings reach pytest, raised once at the end of a case
"""

import enum


class ConformanceError(Exception):
    """Base of every error that the suite raises on purpose."""


class UsageError(ConformanceError):
    """A mistake in options, profile or files: where it is, what was found, what was expected."""


class InfraError(ConformanceError):
    """The platform failed: a process died, a request timed out."""


class Violation(AssertionError):  # noqa: N818 - a verdict, not an error of the suite
    """The operator is wrong. The text is one sentence, then the evidence.

    An AssertionError, which pytest and Allure count as a defect of the product (failed) and not of
    the test (broken).
    """


class Exit(enum.IntEnum):
    """Exit codes of `python -m conformance`; 0, 1, 4 and 5 are pytest's own for the same."""

    OK = 0
    DIFFERS = 1
    UNKNOWN = 3
    USAGE = 4
    NOTHING = 5
