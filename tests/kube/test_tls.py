"""A TLS context that threads share is not changed by any of them."""

import contextlib
import ssl

import pytest

from conformance.kube.connection import shared_context


def hello(context: ssl.SSLContext) -> bytes:
    """What a client would send first."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    return outgoing.read()


def test_the_protocols_of_a_shared_context_stay_as_they_were_made() -> None:
    context = shared_context("", verify=True)
    assert b"http/1.1" in hello(context)
    # As urllib3 does for each connection, with its own list.
    context.set_alpn_protocols(["other/9"])
    assert b"http/1.1" in hello(context)
    assert b"other/9" not in hello(context)


@pytest.mark.parametrize("verify", [True, False])
def test_the_server_is_verified_unless_the_kubeconfig_says_otherwise(verify: bool) -> None:
    context = shared_context("", verify=verify)
    assert context.check_hostname is verify
    assert (context.verify_mode is ssl.CERT_REQUIRED) is verify
    assert not context.verify_flags & ssl.VERIFY_X509_STRICT
