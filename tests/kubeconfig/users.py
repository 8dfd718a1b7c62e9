"""Kubeconfigs, roles and small servers for the tests."""

import argparse
import contextlib
import copy
import json
import select
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import conformance.__main__ as conformance_main
from conformance.kube import Api, apply_manifests

Raw = dict[str, Any]
_RUN = [
    (("",), ("namespaces",), ("get", "list", "watch", "create", "delete")),
    (("coordination.k8s.io",), ("leases",), ("create", "get", "update")),
    (("",), ("serviceaccounts",), ("get",)),
    (("nvidia.com",), ("*",), ("*",)),
    (("apiextensions.k8s.io",), ("customresourcedefinitions",), ("get",)),
    (("admissionregistration.k8s.io",), ("validatingwebhookconfigurations",), ("list",)),
    (("apps",), ("deployments",), ("create",)),
    (("",), ("services",), ("create",)),
    (("leaderworkerset.x-k8s.io",), ("leaderworkersets",), ("create",)),
    (("scheduling.volcano.sh",), ("podgroups",), ("create",)),
]
_SEE = [
    (("",), ("pods", "services", "events", "configmaps"), ("get", "list", "watch")),
    (("apps",), ("*",), ("get", "list", "watch")),
]


def kubeconfig_of(path: Path, *, context: str) -> Raw:
    """The cluster's kubeconfig with a context of another name."""
    content: Raw = json.loads(path.read_text())
    content["contexts"][0]["name"] = content["current-context"] = context
    return content


def with_user(content: Raw, user: Raw) -> Raw:
    made = copy.deepcopy(content)
    made["users"][0]["user"] = user
    return made


def with_cluster(content: Raw, **fields: Any) -> Raw:
    made = copy.deepcopy(content)
    made["clusters"][0]["cluster"].update(fields)
    return made


def bind_role(admin: Api, user: str, *, more: Any = ()) -> None:
    """Let a user do what a run needs, and see the kinds of _SEE."""
    rules = [
        {"apiGroups": list(groups), "resources": list(resources), "verbs": list(verbs)}
        for groups, resources, verbs in (*_RUN, *_SEE, *more)
    ]
    group, version = "rbac.authorization.k8s.io", "rbac.authorization.k8s.io/v1"
    role = {"apiVersion": version, "kind": "ClusterRole", "metadata": {"name": user}}
    binding = {"apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": user}}
    subject = {"kind": "User", "name": user, "apiGroup": group}
    reference = {"kind": "ClusterRole", "name": user, "apiGroup": group}
    apply_manifests(
        admin,
        [{**role, "rules": rules}, {**binding, "roleRef": reference, "subjects": [subject]}],
    )


def writes(audit_log: Path, user: str) -> list[str]:
    """What the user asked to be written, refused or not."""
    found = []
    for line in audit_log.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if entry["user"]["username"] == user and entry["verb"] not in ("get", "list", "watch"):
            found.append(f"{entry['verb']} {entry['requestURI']}")
    return found


def arguments(path: Path, **more: Any) -> argparse.Namespace:
    """Of `cleanup` for the context `prod`; options that are on."""
    given = ["cleanup", f"--kubeconfig={path}", "--kube-context=prod"]
    given += [f"--{name.replace('_', '-')}" for name, on in more.items() if on]
    return conformance_main._parser().parse_args(given)


@contextlib.contextmanager
def silent_server() -> Iterator[str]:
    """Takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"https://127.0.0.1:{server.getsockname()[1]}"


def closed_port() -> int:
    """Where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class ConnectProxy:
    """A proxy that leads every CONNECT to one place, and counts them."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self.asked: list[str] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._lead, args=(client,), daemon=True).start()

    def _lead(self, client: socket.socket) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        self.asked.append(head.split()[1].decode())
        with client, socket.create_connection(self._target) as server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            while True:
                for one in select.select([client, server], [], [])[0]:
                    data = one.recv(65536)
                    if not data:
                        return
                    (server if one is client else client).sendall(data)
