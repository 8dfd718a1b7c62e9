"""What a probe found, and what follows for a kind of cluster."""

from __future__ import annotations

import enum
from dataclasses import dataclass


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


class Kind(enum.StrEnum):
    """The kinds of cluster, as `--cluster` names them. Not those of cluster.provider, which imports the
    Kubernetes client: the doctor must also work where that is missing."""

    EMBEDDED = "embedded"
    KIND = "kind"
    KUBECONFIG = "kubeconfig"


class Readiness(enum.StrEnum):
    """Whether a kind of cluster would work."""

    READY = "ready"
    PREPARABLE = "preparable"
    """The suite gets or builds what is missing by itself, the first time."""
    NO = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindReport:
    """One kind of cluster: whether it would work, why not, and what to do."""

    kind: Kind
    readiness: Readiness
    reasons: tuple[str, ...] = ()
    install: tuple[str, ...] = ()

    @property
    def works(self) -> bool:
        """True if it can be used, possibly after a preparation that the suite does itself."""
        return self.readiness is not Readiness.NO
