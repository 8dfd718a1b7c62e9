"""Who acts on a cluster: one user for each process, so that each write has an author."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.cluster.certificates import GROUP, Authority, write_private

SUITE = "dgd-conformance"
OPERATOR = "dgd-operator"
"""The operator under test, unless its profile names another user."""
LWS = "lws-controller-manager"
KWOK = "kwok"

_MASTERS = "system:masters"


@dataclass(frozen=True, slots=True)
class Identity:
    """A user and its group, as a client certificate says them."""

    user: str
    group: str = GROUP


IDENTITIES: Mapping[str, Identity] = {
    SUITE: Identity(SUITE, _MASTERS),
    OPERATOR: Identity(OPERATOR),
    "kube-controller-manager": Identity("system:kube-controller-manager"),
    "kube-scheduler": Identity("system:kube-scheduler"),
    # As privileged as an installation makes them, but at once: the API server is still making the
    # roles that a binding would need when these start, and each waits 1-10 s after a refusal.
    LWS: Identity(LWS, _MASTERS),
    KWOK: Identity(KWOK, _MASTERS),
}
"""Name of the kubeconfig → identity."""


def write_kubeconfig(path: Path, *, server: str, authority: Authority, identity: Identity) -> Path:
    """Mint a client certificate and write a kubeconfig that holds everything inline."""
    user, pair = identity.user, authority.client(identity.user, identity.group)
    credentials = {
        "client-certificate-data": base64.b64encode(pair.certificate).decode(),
        "client-key-data": base64.b64encode(pair.key).decode(),
    }
    cluster = {"server": server, "certificate-authority-data": authority.bundle}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "embedded", "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": "embedded", "context": {"cluster": "embedded", "user": user}}],
        "current-context": "embedded",
    }
    return write_private(path, json.dumps(content).encode())
