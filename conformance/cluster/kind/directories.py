"""The directory of a kind cluster on this machine: `KindDirectory`.

${XDG_STATE_HOME:-~/.local/state}/dgd-conformance/kind/NAME holds the cluster's configuration, its
kubeconfigs and its audit log, which the node writes through a mount. It does not depend on the
current directory, so a kept cluster is found from anywhere."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.cluster.kind.config import AUDIT_LOG
from conformance.cluster.programs.sources import home


class KindDirectory:
    """The directory of one cluster, which has its name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cluster = path.name
        self.admin = path / "admin.kubeconfig"
        """kind's own kubeconfig: pytest-kind writes it and empties it again."""
        self.audit = path / "audit"
        """What the node's API server writes."""
        self.audit_log = self.audit / AUDIT_LOG
        self.config = path / "kind.yaml"
        self.launcher = path / "kind"
        """What pytest-kind takes for kind."""
        self.log = path / "kind.log"
        """What kind said."""
        self.mirrors = path / "mirrors"
        """Mirrors of registries, for the node's containerd."""
        self.settings = path / "settings"
        """What the node reads."""
        self.suite = path / "suite.kubeconfig"
        self._made = path / "made.json"

    def made(self) -> dict[str, Any]:
        """What `record_made` wrote; empty if the cluster was never complete."""
        try:
            content = json.loads(self._made.read_bytes())
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def record_made(self, facts: Mapping[str, Any]) -> None:
        """Note that the cluster is complete, and how it was made."""
        self._made.write_text(json.dumps(dict(facts)), encoding="utf-8")


def root(environ: Mapping[str, str] | None = None) -> Path:
    """Where the directories of all clusters lie."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_STATE_HOME") or os.path.join(home(environ), ".local", "state")
    return Path(base) / "dgd-conformance" / "kind"


def new_name() -> str:
    """A name that no other run takes: with this process' id and the boot that it belongs to, for
    people who wonder where a cluster came from."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    except OSError:
        boot = "0"
    return f"dgd-conformance-{os.getpid()}-{boot}-{os.urandom(2).hex()}"
