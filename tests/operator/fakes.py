"""A control plane that only remembers: an API server in a dictionary, processes that are real."""

from __future__ import annotations

import copy
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kubernetes.client import Configuration

from conformance.kube import Answer, Api
from conformance.kube.connection import Connection

_GROUPS: dict[str, dict[str, tuple[str, bool]]] = {
    "v1": {
        "Namespace": ("namespaces", False),
        "Secret": ("secrets", True),
        "Service": ("services", True),
    },
    "apps/v1": {"Deployment": ("deployments", True)},
    "apiextensions.k8s.io/v1": {"CustomResourceDefinition": ("customresourcedefinitions", False)},
    "admissionregistration.k8s.io/v1": {
        "ValidatingWebhookConfiguration": ("validatingwebhookconfigurations", False),
        "MutatingWebhookConfiguration": ("mutatingwebhookconfigurations", False),
    },
    "leaderworkerset.x-k8s.io/v1": {"LeaderWorkerSet": ("leaderworkersets", True)},
}

DryRun = Callable[[Mapping[str, Any]], tuple[int, str]]


class FakeServer:
    """Stands in for `conformance.kube`'s transport: server-side apply, read, list, dry run."""

    server = "https://fake"

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.applied: list[str] = []
        """`Kind name` in order."""
        self.dry_run: DryRun = lambda manifest: (201, "")

    def request(
        self,
        verb: str,
        path: str,
        body: Any = None,
        content_type: str = "",
        params: Mapping[str, Any] | None = None,
        **_: Any,
    ) -> Answer:
        """One request."""
        if verb == "PATCH":
            stored = copy.deepcopy(dict(body))
            if stored["kind"] == "CustomResourceDefinition":
                stored["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
            self.objects[path] = stored
            self.applied.append(f"{stored['kind']} {stored['metadata']['name']}")
            return Answer(code=200, body=stored)
        if verb == "POST" and (params or {}).get("dryRun"):
            code, message = self.dry_run(body)
            return Answer(code=code, body={"kind": "Status", "message": message})
        if path in ("/api", "/apis") or re.fullmatch(r"/api/v1|/apis/[^/]+/[^/]+", path):
            return self._discovery(path)
        if path in self.objects:
            return Answer(code=200, body=self.objects[path])
        items = [item for key, item in self.objects.items() if key.rpartition("/")[0] == path]
        if items or re.search(r"s$", path.rpartition("/")[2]):
            return Answer(code=200, body={"kind": "List", "apiVersion": "v1", "items": items})
        return Answer(code=404, body={"kind": "Status", "message": "not found"})

    def find(self, kind: str, name: str) -> dict[str, Any]:
        """The stored object of that kind and name."""
        return next(
            item
            for item in self.objects.values()
            if item["kind"] == kind and item["metadata"]["name"] == name
        )

    def _discovery(self, path: str) -> Answer:
        if path == "/api":
            return Answer(code=200, body={"kind": "APIVersions", "versions": ["v1"]})
        if path == "/apis":
            names = [name.split("/") for name in _GROUPS if "/" in name]
            groups = [
                {"name": group, "versions": [{"version": version}]} for group, version in names
            ]
            return Answer(code=200, body={"kind": "APIGroupList", "groups": groups})
        kinds = _GROUPS.get(path.removeprefix("/apis/").removeprefix("/api/"), {})
        resources = [
            {"name": plural, "kind": kind, "namespaced": namespaced, "verbs": ["list", "watch"]}
            for kind, (plural, namespaced) in kinds.items()
        ]
        return Answer(code=200, body={"resources": resources})


class ApiOnFake(Api):
    """A client whose requests a fake server answers."""

    def __init__(self, server: FakeServer) -> None:
        connection = Connection(configuration=Configuration(host="https://fake"))
        super().__init__(connection, agent="test", connections=1)
        self._fake = server

    def request(self, verb: str, path: str, *given: Any, **options: Any) -> Answer:
        return self._fake.request(verb, path, *given, **options)


class RealProcess:
    """A program as a cluster runs it, without a reaper: the test ends it."""

    def __init__(
        self, argv: Sequence[str], *, env: Mapping[str, str], cwd: Path, log: Path
    ) -> None:
        self._argv = list(argv)
        self._env = dict(env)
        self._cwd = cwd
        self.log = log
        self._child: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def child(self) -> subprocess.Popen[bytes]:
        assert self._child is not None
        return self._child

    @property
    def pid(self) -> int | None:
        return self.child.pid

    @property
    def returncode(self) -> int | None:
        return self.child.poll()

    @property
    def running(self) -> bool:
        return self.child.poll() is None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                self._argv, stdout=log, stderr=log, env=self._env, cwd=self._cwd
            )

    def terminate(self) -> None:
        self.child.terminate()

    def kill(self) -> None:
        self.child.kill()

    def wait(self, timeout: float | None = None) -> int:
        try:
            return self.child.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError from error

    def tail(self, lines: int = 15) -> str:
        return "\n".join(self.log.read_text(encoding="utf-8").splitlines()[-lines:])


class FakeCluster:
    """Remembers what it was asked for; `spawn` starts real programs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.kubeconfig = directory / "suite.kubeconfig"
        self.etcd_url = "http://127.0.0.1:2379"
        self.ca_bundle = "Q0E="
        self.admins: list[str] = []
        self.certified: list[str] = []
        self.kinds_changes = 0
        self.spawned: list[dict[str, Any]] = []
        self.processes: list[RealProcess] = []

    @property
    def process_host(self) -> FakeCluster:
        return self

    def kubeconfig_for(self, user: str) -> Path:
        return self.directory / f"{user}.kubeconfig"

    def bind_cluster_admin(self, user: str) -> None:
        self.admins.append(user)

    def serving_certificate(self, names: Sequence[str], directory: Path) -> Path:
        self.certified = list(names)
        directory.mkdir(parents=True, exist_ok=True)
        for name in ("tls.crt", "tls.key", "ca.crt"):
            (directory / name).write_text(f"the {name}", encoding="utf-8")
        return directory

    def kinds_changed(self) -> None:
        self.kinds_changes += 1

    def spawn(
        self,
        name: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> RealProcess:
        call = {
            "name": name,
            "argv": list(argv),
            "env": env,
            "cwd": cwd,
            "files": dict(files or {}),
        }
        self.spawned.append(call)
        process = RealProcess(
            argv,
            env=dict(os.environ) if env is None else env,
            cwd=cwd or self.directory,
            log=self.directory / f"{name}.log",
        )
        self.processes.append(process)
        return process

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait(5)


def graph_crd(*versions: str, multinode: bool = True) -> dict[str, Any]:
    """The CRD of graphs with these served versions."""
    service = {"properties": {"multinode": {"type": "object"}} if multinode else {}}
    fields = {"services": {"additionalProperties": service}, "components": {"items": service}}
    schema = {"openAPIV3Schema": {"properties": {"spec": {"properties": fields}}}}
    return _crd("dynamographdeployments", "DynamoGraphDeployment", versions, schema)


def component_crd(*versions: str) -> dict[str, Any]:
    """The CRD of components with these served versions."""
    return _crd("dynamocomponentdeployments", "DynamoComponentDeployment", versions, {})


def _crd(
    plural: str, kind: str, versions: Sequence[str], schema: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.nvidia.com"},
        "spec": {
            "group": "nvidia.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [
                {"name": version, "served": True, "schema": schema} for version in versions
            ],
        },
    }


def webhook() -> dict[str, Any]:
    """A validating webhook for graphs that names a Service."""
    service = {"namespace": "ops", "name": "hooks", "path": "/validate"}
    rule = {
        "apiGroups": ["nvidia.com"],
        "apiVersions": ["v1alpha1"],
        "operations": ["CREATE"],
        "resources": ["dynamographdeployments"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hooks"},
        "webhooks": [
            {"name": "v.x.io", "clientConfig": {"service": service}, "rules": [rule]},
        ],
    }
