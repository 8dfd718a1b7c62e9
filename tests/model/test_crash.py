"""What in an operator's log is a crash, and what only looks like one."""

import pytest

from conformance.model.crash import CrashScanner, is_crash

TRACEBACK = ["Traceback (most recent call last):", '  File "x.py", line 1', "KeyError: 1"]


def crashes(*lines: str) -> list[str]:
    """Lines of a log with which a crash begins."""
    scanner = CrashScanner()
    return [line for line in lines if scanner.read(line)]


def ended_with(*lines: str) -> str:
    """The traceback that a program with this log ended with."""
    scanner = CrashScanner()
    for line in lines:
        scanner.read(line)
    return scanner.ended()


@pytest.mark.parametrize(
    "line",
    [
        "panic: runtime error: invalid memory address or nil pointer dereference",
        "fatal error: concurrent map writes",
        "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47e8b9]",
        '2026-11-30T06:45:12Z\tERROR\tObserved a panic\t{"controller": "dgd"}',
        '{"level":"error","msg":"Observed a panic","panic":"nil map"}',
    ],
)
def test_a_crash_of_a_go_program_is_one_wherever_it_stands(line: str) -> None:
    assert is_crash(line)
    assert crashes("before", line, "", "goroutine 1 [running]:") == [line]


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-30T06:45:12Z INFO recovered, no panic: fine",
        "this is no fatal error: really",
        "2026-11-30T06:45:12Z INFO read [signal SIGSEGV in the user's log",
        *TRACEBACK,
    ],
)
def test_a_line_that_only_speaks_of_a_crash_is_none(line: str) -> None:
    assert not is_crash(line)
    assert crashes(line) == []


def test_the_signal_behind_a_panic_is_the_same_crash() -> None:
    panic, signal = "panic: runtime error: nil pointer", "[signal SIGSEGV: violation code=0x1]"
    assert crashes(panic, signal, "", panic) == [panic, panic]


def test_a_traceback_that_the_program_ended_with_is_a_crash_and_told_once() -> None:
    scanner = CrashScanner()
    assert not any(scanner.read(line) for line in ["2026-11-30T06:45:11Z INFO", *TRACEBACK])
    assert scanner.ended() == TRACEBACK[0]
    assert scanner.ended() == ""


@pytest.mark.parametrize(
    "line",
    [
        "2026-11-30T06:45:12.5Z INFO reconciled",
        "2026-11-30 06:45:12,500 ERROR reconciling failed, trying again",
        '{"level":"info","msg":"reconciled"}',
        "I1130 06:45:12.500000       1 main.go:1] reconciled",
    ],
)
def test_a_traceback_after_which_the_program_logged_on_was_survived(line: str) -> None:
    assert ended_with(*TRACEBACK, line) == ""
    assert ended_with(*TRACEBACK, line, *TRACEBACK) == TRACEBACK[0]
