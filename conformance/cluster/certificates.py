"""The certificate authority of one control plane: serving certificates and client identities."""

import base64
import datetime
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import trustme

LIFETIME = datetime.timedelta(days=2)
"""Of what is issued: longer than any run, and useless soon after."""

GROUP = "dgd-conformance"
"""Of users who need no other; it has no rights."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Issues what a control plane needs. One is made for each cluster; its key is never written."""

    def __init__(self) -> None:
        # Elliptic: signing with RSA would cost the start of the control plane a second or two.
        self._authority = trustme.CA(organization_name=GROUP, key_type=trustme.KeyType.ECDSA)

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, PEM: what clients and servers trust."""
        return self._authority.cert_pem.bytes()

    @property
    def bundle(self) -> str:
        """The same in base64, as `caBundle` of a webhook wants it."""
        return base64.b64encode(self.certificate).decode("ascii")

    def server(self, names: Sequence[str]) -> KeyPair:
        """For DNS names and IP addresses. Raises ValueError without a name."""
        if not names:
            raise ValueError("a serving certificate needs at least one DNS name or IP address")
        return self._issue(*names)

    def client(self, user: str, group: str = GROUP) -> KeyPair:
        """Kubernetes reads the user from CN and the group from O. Raises ValueError without a user."""
        if not user:
            raise ValueError("a client identity needs a user name")
        # Go takes no certificate with an empty list of names, and clients are not asked for theirs.
        return self._issue(GROUP, user=user, group=group)

    def _issue(self, *names: str, user: str | None = None, group: str = GROUP) -> KeyPair:
        now = datetime.datetime.now(datetime.UTC)
        issued = self._authority.issue_cert(
            *names,
            common_name=user,
            organization_name=group,
            organization_unit_name=GROUP,
            # An hour back: a container's clock may lag behind its host's.
            not_before=now - datetime.timedelta(hours=1),
            not_after=now + LIFETIME,
            key_type=trustme.KeyType.ECDSA,
        )
        return KeyPair(issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes())


def service_account_key() -> bytes:
    """PEM, to sign service account tokens: "EC PRIVATE KEY", the only elliptic form that client-go's
    keyutil reads for them."""
    return trustme.CA(key_type=trustme.KeyType.ECDSA).private_key_pem.bytes()


def write_private(path: Path, content: bytes) -> Path:
    """Write a file that only its owner can read, from its first byte on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(content)
    return path
