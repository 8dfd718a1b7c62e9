"""The certificate authority of one control plane: serving certificates and client identities.

Keys are elliptic (P-256): signing one takes a millisecond, where RSA would cost the start of the
control plane a second or two. They live in the cluster's temporary directory only.
"""

from __future__ import annotations

import base64
import datetime
import ipaddress
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=2)
"""Longer than any run, and useless soon after."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes


class Authority:
    """Issues what a control plane needs. One is made for each cluster, and forgotten with it."""

    def __init__(self, *, common_name: str = "dgd-conformance") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = _name(common_name, ())
        public = self._key.public_key()
        self._certificate = (
            _builder(subject=name, issuer=name, public=public)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(authority=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def certificate(self) -> bytes:
        """The authority's own certificate, PEM: what clients and servers trust."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def bundle(self) -> str:
        """The same in base64, as `caBundle` of a webhook wants it."""
        return base64.b64encode(self.certificate).decode("ascii")

    def server(self, names: Sequence[str]) -> KeyPair:
        """A serving certificate for DNS names and IP addresses. Raises ValueError without a
        name."""
        if not names:
            raise ValueError("a serving certificate needs at least one DNS name or IP address")
        alternative = x509.SubjectAlternativeName([_general_name(name) for name in names])
        return self._issue(
            subject=_name("dgd-conformance-server", ()),
            usage=ExtendedKeyUsageOID.SERVER_AUTH,
            alternative=alternative,
        )

    def client(self, user: str, groups: Sequence[str] = ()) -> KeyPair:
        """A client certificate: Kubernetes reads the user from CN and each group from an O."""
        if not user:
            raise ValueError("a client identity needs a user name")
        return self._issue(
            subject=_name(user, groups), usage=ExtendedKeyUsageOID.CLIENT_AUTH, alternative=None
        )

    def _issue(
        self,
        *,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        alternative: x509.SubjectAlternativeName | None,
    ) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(subject=subject, issuer=self._certificate.subject, public=key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        if alternative is not None:
            builder = builder.add_extension(alternative, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
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


def _name(common_name: str, organizations: Sequence[str]) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=authority,
        encipher_only=False,
        decipher_only=False,
    )


def _builder(
    *, subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        # An hour back: a container's clock may lag behind its host's.
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
    )
