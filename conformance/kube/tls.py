"""The TLS side of a connection: `shared_context`."""

from __future__ import annotations

import ssl
from collections.abc import Iterable


class _Shared(ssl.SSLContext):
    """A context that is complete, and that threads share.

    urllib3 sets the protocols once more for each new connection. OpenSSL then frees the old list while
    another thread copies it without Python's lock, and the API server answers that thread's hello with
    the alert `decode error`: seen once in forty loaded runs, and 9 times in 2500 handshakes beside a
    thread that does nothing else.
    """

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        """Nothing: they are set."""


def shared_context(authority: str, *, verify: bool) -> ssl.SSLContext:
    """A context for HTTP/1.1, to which a client certificate may be added before it is used.
    `authority`: PEM of what the server must be signed by; empty: the machine's own authorities."""
    context = _Shared(ssl.PROTOCOL_TLS_CLIENT)
    ssl.SSLContext.set_alpn_protocols(context, ["http/1.1"])
    if authority:
        context.load_verify_locations(cadata=authority)
    else:
        context.load_default_certs()
    # Kubernetes' own certificates may lack what OpenSSL's strict mode asks for, should it be on.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
