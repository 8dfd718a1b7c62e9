"""The suite's identity in a kind cluster, and the logs that it can read there."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from conformance.cluster.certificates import write_private
from conformance.cluster.identities import SUITE
from conformance.cluster.kind import kwok, lws
from conformance.cluster.kind.directories import KindDirectory
from conformance.cluster.kind.docker import Docker
from conformance.cluster.programs.pins import Program
from conformance.kube import Api


def write_suite_kubeconfig(directory: KindDirectory, *, docker: Docker, node: str) -> None:
    """The suite's kubeconfig, with a certificate that kubeadm signs in the node: the audit log
    tells the suite from kind, which is kubernetes-admin. Raises InfraError."""
    command = ["kubeadm", "kubeconfig", "user", "--config=/kind/kubeadm.conf"]
    command += [f"--client-name={SUITE}", "--org=system:masters"]
    minted = yaml.safe_load(docker.execute(node, command))
    admin = yaml.safe_load(directory.admin.read_bytes())
    name = f"kind-{directory.cluster}"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": admin["clusters"][0]["cluster"]}],
        "users": [{"name": SUITE, "user": minted["users"][0]["user"]}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": SUITE}}],
        "current-context": name,
    }
    write_private(directory.suite, json.dumps(content).encode())


def save_logs(api: Api, directory: Path) -> None:
    """Write the logs of the LeaderWorkerSet controller and of KWOK, as far as they can be had.
    Raises InfraError if the API server does not answer."""
    for program, namespace, label in (
        (Program.LWS, lws.NAMESPACE, "app.kubernetes.io/name=lws"),
        (Program.KWOK, kwok.NAMESPACE, f"app={kwok.NAME}"),
    ):
        pods = f"/api/v1/namespaces/{namespace}/pods"
        for pod in api.list(pods, {"labelSelector": label})[0]:
            answer = api.request("GET", f"{pods}/{pod['metadata']['name']}/log")
            if answer.ok:
                (directory / f"{program.value}.log").write_text(str(answer.body), encoding="utf-8")
