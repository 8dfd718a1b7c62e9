"""The certificate authority of one control plane: serving certificates and client identities.

Keys are elliptic (P-256): signing with RSA would cost the start of the control plane a second or
two."""

from __future__ import annotations

import base64
import datetime
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=2)
"""Of what is issued: longer than any run, and useless soon after."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Issues what a control plane needs. One is made for each cluster; its key is never written."""

    def __init__(self) -> None:
        self._authority = trustme.CA(organization_name="dgd-conformance")
        pem = self._authority.private_key_pem.bytes()
        key = serialization.load_pem_private_key(pem, password=None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        self._key = key

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, PEM: what clients and servers trust."""
        return self._authority.cert_pem.bytes()

    @property
    def bundle(self) -> str:
        """The same in base64, as `caBundle` of a webhook wants it."""
        return base64.b64encode(self.certificate).decode("ascii")

    def server(self, names: Sequence[str]) -> KeyPair:
        """A serving certificate for DNS names and IP addresses. Raises ValueError without a
        name."""
        if not names:
            raise ValueError("a serving certificate needs at least one DNS name or IP address")
        issued = self._authority.issue_cert(*names, not_after=_now() + LIFETIME)
        return KeyPair(issued.cert_chain_pems[0].bytes(), issued.private_key_pem.bytes())

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A client certificate: Kubernetes reads the user from CN and each group from an O, of which
        trustme writes exactly one. Raises ValueError without a user."""
        if not user:
            raise ValueError("a client identity needs a user name")
        organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, user)])
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(x509.load_pem_x509_certificate(self.certificate).subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            # An hour back: a container's clock may lag behind its host's.
            .not_valid_before(_now() - datetime.timedelta(hours=1))
            .not_valid_after(_now() + LIFETIME)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), _private(key))


def service_account_key() -> bytes:
    """A private key, PEM, with which the API server signs service account tokens."""
    return _private(ec.generate_private_key(ec.SECP256R1()))


def write_private(path: Path, content: bytes) -> Path:
    """Write a file that only its owner can read, from its first byte on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as handle:
        handle.write(content)
    return path


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    # "EC PRIVATE KEY": the only elliptic form that client-go's keyutil reads for service accounts.
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
