"""A running control plane as another process sees it: addresses and files, nothing to own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.model.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterHandle:
    """What is needed to work with a cluster that another process owns (an xdist worker's view). Only
    the owner starts, restarts or stops its processes."""

    kubeconfig: Path
    server: str
    directory: Path
    audit_log: Path
    logs: Mapping[str, Path]
    nodes: tuple[str, ...]
    versions: Mapping[str, str]
    ca_bundle: str
    etcd_url: str

    def to_json(self) -> dict[str, Any]:
        """Plain data, the inverse of `from_json`."""
        return {
            "kubeconfig": str(self.kubeconfig),
            "server": self.server,
            "directory": str(self.directory),
            "audit_log": str(self.audit_log),
            "logs": {name: str(path) for name, path in self.logs.items()},
            "nodes": list(self.nodes),
            "versions": dict(self.versions),
            "ca_bundle": self.ca_bundle,
            "etcd_url": self.etcd_url,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ClusterHandle:
        """Raises UsageError if a key is missing."""
        try:
            return cls(
                kubeconfig=Path(data["kubeconfig"]),
                server=data["server"],
                directory=Path(data["directory"]),
                audit_log=Path(data["audit_log"]),
                logs={name: Path(path) for name, path in data["logs"].items()},
                nodes=tuple(data["nodes"]),
                versions=dict(data["versions"]),
                ca_bundle=data["ca_bundle"],
                etcd_url=data["etcd_url"],
            )
        except KeyError as error:
            raise UsageError(
                f"the description of the control plane lacks {error}; it is what "
                "EmbeddedCluster.describe() gives"
            ) from error

    @classmethod
    def from_file(cls, path: Path) -> ClusterHandle:
        """Read what `describe()` gave, stored as JSON. Raises UsageError if it is not that."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{path} does not describe a running control plane: {error}"
            ) from error
        return cls.from_json(data)
