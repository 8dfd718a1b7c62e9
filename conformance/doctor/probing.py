"""What probes find. Each has five seconds, and one that fails is a finding, not a traceback."""

from __future__ import annotations

import contextlib
import enum
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from conformance.cluster.processes.owner import children

SECONDS = 5.0
"""For one probe. A Docker daemon that hangs, or a dead network disk, must not hold up the rest."""

COMMAND_SECONDS = 4.0
"""A command ends before the probe around it does, so that none is left running."""


class State(enum.StrEnum):
    """Whether a thing is there and can be used."""

    OK = "ok"
    WARNING = "warning"
    """There, or not needed at once; something about it should be known."""
    MISSING = "missing"
    """Not there, or cannot be used."""
    UNKNOWN = "unknown"
    """The probe did not answer in time, or failed."""

    def of(self, name: str, **more: str) -> Finding:
        """A thing in this state."""
        return Finding(name=name, state=self, **more)

    def unless(
        self, good: bool, name: str, *, note: str = "", install: str = "", **more: str
    ) -> Finding:
        """A thing in this state, with what to know and to do, unless it is `good`."""
        return (
            State.OK.of(name, **more) if good else self.of(name, note=note, install=install, **more)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked for. `name` is stable, for machines."""

    name: str
    state: State
    version: str = ""
    place: str = ""
    """The path, or where it would come from."""
    note: str = ""
    """What should be known about it, one sentence."""
    install: str = ""
    """What to do for it, if it is not there."""


Probe = Callable[[], Iterable[Finding]]


def run_all(probes: Mapping[str, Probe], *, seconds: float = SECONDS) -> list[Finding]:
    """What all probes found, in their order; they run at the same time."""
    answers: dict[str, list[Finding]] = {}
    before = children()

    def ask(name: str, probe: Probe) -> None:
        try:
            answers[name] = list(probe())
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            answers[name] = [State.UNKNOWN.of(name, note=f"not told: {reason}")]

    # Daemons: a probe that never ends does not keep the program from ending.
    threads = [
        threading.Thread(target=ask, args=probe, name=f"probe-{probe[0]}", daemon=True)
        for probe in probes.items()
    ]
    for thread in threads:
        thread.start()
    end = time.monotonic() + seconds
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    silent = {
        name: [State.UNKNOWN.of(name, note=f"no answer within {seconds:g} s")] for name in probes
    }
    found = silent | answers
    if any(thread.is_alive() for thread in threads):
        # What a probe started and still waits for would outlive us.
        for pid in children() - before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return [finding for name in probes for finding in found[name]]
