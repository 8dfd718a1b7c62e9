"""Where the files of an embedded control plane lie, and on which ports its parts listen."""

from pathlib import Path
from typing import NamedTuple


class Ports(NamedTuple):
    """TCP ports on loopback."""

    etcd: int = 0
    etcd_peer: int = 0
    apiserver: int = 0
    lws_webhook: int = 0


class Layout:
    """Where things lie in a cluster's directory. `logs` may lie outside, to be kept."""

    def __init__(self, *, directory: Path, logs: Path) -> None:
        self.directory = directory
        self.logs = logs
        self.audit_log = logs / "audit.jsonl"
        self.audit_policy = directory / "audit-policy.yaml"
        self.kwok_stages = directory / "kwok-stages.yaml"
        self.lws_certificates = directory / "lws-certificates"
        self.lws_configuration = directory / "lws.json"
        self.pki = directory / "pki"
        self.scheduler_configuration = directory / "scheduler.yaml"

    def log(self, process: str) -> Path:
        """Output and errors of one process."""
        return self.logs / f"{process}.log"

    def kubeconfig(self, identity: str) -> Path:
        """Of one identity of the cluster."""
        return self.directory / f"{identity}.kubeconfig"


UNUSED = Layout(directory=Path("/unused"), logs=Path("/unused"))
"""For who wants of a command line only what does not depend on files."""
