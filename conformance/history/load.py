"""How long the operator had its turn: the time that counts against a deadline.

A slow machine and a long queue take time from an operator that is not to blame for it. A stretch
counts in full if the operator was at work here, or idle, which shows that its queue was empty. It does
not count if it worked for others alone, and in part if operator or platform waited for a processor.
"""

from collections.abc import Iterable

from conformance.history.records import Load
from conformance.model.bounds import REQUEST_AT_EASE


def counted(load: Load) -> float:
    """The share of a stretch that counts, from 0 to 1."""
    if load.elsewhere and not load.here:
        return 0.0
    answering = min(1.0, REQUEST_AT_EASE / load.request) if load.request else 1.0
    return min(load.operator, load.platform, answering)


def had_turn(loads: Iterable[Load], start: float, end: float) -> float:
    """Seconds between two times (since the epoch) in which the operator had its turn. Time of which
    nothing is known counts in full: where nothing is measured the clock on the wall decides."""
    lost = 0.0
    for load in loads:
        overlap = min(end, load.at) - max(start, load.at - load.seconds)
        if overlap > 0:
            lost += overlap * (1.0 - counted(load))
    return max(0.0, end - start - lost)


def after_turn(loads: Iterable[Load], start: float, seconds: float) -> float:
    """The time at which the operator has had its turn for so many seconds since `start`."""
    later = sorted((load.at - load.seconds, load.at, counted(load)) for load in loads)
    return _reached(later, start, seconds)


def before_turn(loads: Iterable[Load], end: float, seconds: float) -> float:
    """The time from which the operator had its turn for so many seconds until `end`."""
    # Time that runs backward.
    earlier = sorted((-load.at, load.seconds - load.at, counted(load)) for load in loads)
    return -_reached(earlier, -end, seconds)


def _reached(pieces: Iterable[tuple[float, float, float]], at: float, left: float) -> float:
    """Where `left` seconds have been counted since `at`, in full but for pieces (start, end, share)."""
    for start, end, share in pieces:
        if end <= at:
            continue
        if start - at >= left:
            break
        left -= max(0.0, start - at)
        at = max(at, start)
        if (end - at) * share >= left:
            return at + (left / share if left else 0.0)
        left -= (end - at) * share
        at = end
    return at + left
