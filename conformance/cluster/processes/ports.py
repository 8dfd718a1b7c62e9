"""Free TCP ports on loopback."""

import random
import socket

from conformance.model.errors import InfraError

FIRST, LAST = 15000, 32000
"""Below the local ports of outgoing connections on Linux (32768-60999): a client may take one of those
between the choice and the server's bind."""

LOOPBACK = "127.0.0.1"


def is_free(port: int) -> bool:
    """Whether nothing listens on the port, on loopback or on every address, just now."""
    for host in (LOOPBACK, "0.0.0.0"):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                return False
    return True


def free_ports(count: int) -> list[int]:
    """Different ports, free just now and chosen at random: two control planes that start together
    seldom choose alike. A server may still find its port taken. Raises InfraError if all are."""
    chosen: list[int] = []
    for _ in range(1000):
        if len(chosen) == count:
            return chosen
        port = random.randint(FIRST, LAST)
        if port not in chosen and is_free(port):
            chosen.append(port)
    raise InfraError(f"found only {len(chosen)} of {count} free ports between {FIRST} and {LAST}")
