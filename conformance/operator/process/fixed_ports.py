"""TCP ports that a program does not let one choose: locked for one run on a machine."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from conformance.cluster.processes.ports import is_free
from conformance.model.errors import UsageError


class FixedPorts:
    """Holds ports that a program does not let one choose, for as long as this object is not closed.

    The lock is an abstract socket: it is seen by every user in the same network namespace, exactly
    as the port is, it ends with the process however that ends, and it leaves no file.
    """

    def __init__(self, ports: Mapping[str, int], *, operator: str) -> None:
        """Raises UsageError, one sentence, if a port is locked by another run or in use."""
        self._locks: list[socket.socket] = []
        for name, port in ports.items():
            lock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._locks.append(lock)
            try:
                lock.bind(f"\0dgd-conformance-port-{port}")
            except OSError:
                self._refuse(
                    operator, name, port, "another run of the suite on this machine holds it"
                )
            if not is_free(port):
                self._refuse(operator, name, port, "another program on this machine listens on it")

    def close(self) -> None:
        """Give the ports up."""
        for lock in self._locks:
            lock.close()
        self._locks.clear()

    def _refuse(self, operator: str, name: str, port: int, why: str) -> None:
        self.close()
        raise UsageError(
            f"the operator {operator} can only use port {port} ({name}), and {why}; end that first"
        )
