"""Probes that end: each has five seconds, and one that fails is a finding, not a traceback."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from conformance.doctor.findings import Finding, State

SECONDS = 5.0
"""For one probe. A Docker daemon that hangs, or a dead network disk, must not hold up the rest."""

# A command ends before the probe around it does, so that none is left running.
COMMAND_SECONDS = 4.0

Probe = Callable[[], Sequence[Finding]]


def run_all(probes: Mapping[str, Probe], *, seconds: float = SECONDS) -> list[Finding]:
    """What all probes found, in their order; they run at the same time."""
    answers: dict[str, Sequence[Finding]] = {}
    before = _children()

    def ask(name: str, probe: Probe) -> None:
        try:
            answers[name] = list(probe())
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            answers[name] = [Finding(name=name, state=State.UNKNOWN, note=f"not told: {reason}")]

    # Daemons: a probe that never ends does not keep the program from ending.
    threads = {
        name: threading.Thread(target=ask, args=(name, probe), name=f"probe-{name}", daemon=True)
        for name, probe in probes.items()
    }
    for thread in threads.values():
        thread.start()
    late = threading.Event()
    timer = threading.Timer(seconds, late.set)
    timer.daemon = True
    timer.start()
    for thread in threads.values():
        while thread.is_alive() and not late.is_set():
            thread.join(0.05)
    timer.cancel()
    if late.is_set():
        # What a probe started and still waits for would outlive us.
        for pid in _children() - before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    silent = {
        name: [Finding(name=name, state=State.UNKNOWN, note=f"no answer within {seconds:g} s")]
        for name in probes
    }
    return [finding for name in probes for finding in answers.get(name, silent[name])]


def _children() -> set[int]:
    """Processes that this one started and did not yet see the end of; none where nobody says."""
    found: set[int] = set()
    for path in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found |= {int(pid) for pid in path.read_text(encoding="ascii").split()}
    return found


def said(*command: str) -> tuple[bool, str]:
    """Whether a command succeeded, and the first line that it said. It is killed when time is up."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", check=False,
            timeout=COMMAND_SECONDS, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False, f"no answer within {COMMAND_SECONDS:g} s"
    except OSError as error:
        return False, error.strerror or str(error)
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    first = next((line.strip() for line in lines if line.strip()), "")
    if done.returncode == 0:
        return True, first
    said_why = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return False, said_why[-1] if said_why else f"it ended with code {done.returncode}"
