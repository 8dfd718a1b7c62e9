import base64
import json
import socket
import ssl
import stat
import threading
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from conformance.cluster.certificates import (
    Authority,
    KeyPair,
    service_account_key,
    write_private,
)
from conformance.cluster.identities import Identity, write_kubeconfig
from conformance.cluster.processes.ports import FIRST, LAST, free_ports, is_free
from conformance.model.errors import InfraError


def subject(pair: KeyPair) -> x509.Name:
    return x509.load_pem_x509_certificate(pair.certificate).subject


def test_a_client_certificate_names_user_and_group() -> None:
    name = subject(Authority().client("dgd-operator", "a"))
    assert [item.value for item in name.get_attributes_for_oid(NameOID.COMMON_NAME)] == [
        "dgd-operator"
    ]
    groups = name.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert [item.value for item in groups] == ["a"]


def handshake(authority: Authority, pair: KeyPair, name: str, folder: Path) -> None:
    write_private(folder / "tls.crt", pair.certificate)
    write_private(folder / "tls.key", pair.key)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    client = ssl.create_default_context(cadata=authority.certificate.decode())
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            server.wrap_socket(theirs, server_side=True).close()
        except OSError:
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        client.wrap_socket(ours, server_hostname=name).close()
    finally:
        ours.close()
        thread.join()


@pytest.mark.parametrize("name", ["webhook.dynamo-system.svc", "127.0.0.1"])
def test_a_client_trusts_a_serving_certificate_for_its_names(name: str, tmp_path: Path) -> None:
    authority = Authority()
    handshake(
        authority, authority.server(["webhook.dynamo-system.svc", "127.0.0.1"]), name, tmp_path
    )


def test_a_client_refuses_another_name_and_another_authority(tmp_path: Path) -> None:
    authority = Authority()
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(authority, authority.server(["one.svc"]), "two.svc", tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(Authority(), authority.server(["one.svc"]), "one.svc", tmp_path)


def test_nothing_is_issued_without_a_name() -> None:
    with pytest.raises(ValueError, match="at least one DNS name"):
        Authority().server([])
    with pytest.raises(ValueError, match="needs a user name"):
        Authority().client("")


def test_the_bundle_is_the_certificate_in_base64() -> None:
    authority = Authority()
    assert base64.b64decode(authority.bundle) == authority.certificate


def test_the_service_account_key_is_one_that_client_go_reads() -> None:
    key = service_account_key()
    assert key.startswith(b"-----BEGIN EC PRIVATE KEY-----")
    assert load_pem_private_key(key, password=None)


def test_keys_and_kubeconfigs_are_private_files(tmp_path: Path) -> None:
    path = write_kubeconfig(
        tmp_path / "x",
        server="https://127.0.0.1:1",
        authority=Authority(),
        identity=Identity("u", "g"),
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = json.loads(path.read_text(encoding="utf-8"))
    encoded = content["users"][0]["user"]["client-certificate-data"]
    certificate = x509.load_pem_x509_certificate(base64.b64decode(encoded))
    assert certificate.subject.rfc4514_string() == "CN=u,OU=dgd-conformance,O=g"


def test_ports_are_different_free_and_out_of_the_way() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(FIRST <= port <= LAST for port in ports)


def test_a_port_in_use_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not is_free(port)
        monkeypatch.setattr("random.randint", lambda first, last: port)
        with pytest.raises(InfraError, match="found only 0 of 1 free ports"):
            free_ports(1)
