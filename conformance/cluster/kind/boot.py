"""The start of a kind cluster, step by step."""

from __future__ import annotations

import functools
import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster import manifests, readiness
from conformance.cluster.certificates import LIFETIME, write_private
from conformance.cluster.embedded import configuration
from conformance.cluster.kind import access, images, kwok, lws
from conformance.cluster.kind.config import SCHEDULER_KUBECONFIG, cluster_config, mirror_file
from conformance.cluster.kind.directories import KindDirectory
from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.node import containerd_answers, restart_controller_manager
from conformance.cluster.kind.options import KindOptions
from conformance.cluster.kind.pytest_kind import Kind
from conformance.cluster.nodes import on_real_node
from conformance.cluster.programs.lws_manifests import Objects
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.progress import Progress
from conformance.kube import Api, PatchType, apply_manifests, raise_for
from conformance.model.errors import InfraError

STEP_SECONDS = 180.0
"""For each thing that is waited for: 1-10 s on two busy cores, and an image may have to be pulled."""

_CRD = "CustomResourceDefinition"
_NODES = "/api/v1/nodes"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/{}/deployments/{}"
_ADDONS = (("kube-system", "coredns"), ("local-path-storage", "local-path-provisioner"))
"""Deployments that come with a cluster. Not every node image has both."""


class Boot:
    """One attempt to start, or to use a kept cluster again."""

    def __init__(
        self,
        *,
        kind: Kind,
        docker: Docker,
        directory: KindDirectory,
        options: KindOptions,
        nodes: int,
        environ: Mapping[str, str],
    ) -> None:
        self.versions: dict[str, str] = {}
        self._kind = kind
        self._docker = docker
        self._directory = directory
        self._options = options
        self._nodes = nodes
        self._environ = environ
        self._progress = Progress()
        self._given_up = threading.Event()
        self._api: Api | None = None

    @property
    def api(self) -> Api:
        """A client with the suite's identity, once the API server is there."""
        if self._api is None:
            raise InfraError(f"the kind cluster {self._directory.cluster} has no API server yet")
        return self._api

    @property
    def node(self) -> str:
        """Name of the real node, and of its container."""
        return f"{self._directory.cluster}-control-plane"

    def fingerprint(self) -> str:
        """Of all that a kept cluster cannot change any more."""
        facts = [
            self._config(),
            self._options.node_image,
            self._nodes,
            PINS[Program.LWS].version,
            PINS[Program.KWOK].version,
            manifests.text("audit-policy.yaml").decode(),
            manifests.text("kwok-stages.yaml").decode(),
            configuration.scheduler(SCHEDULER_KUBECONFIG),
        ]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def create(self) -> None:
        """Make the cluster and all that belongs into it. Raises UsageError, InfraError."""
        self._write_files()
        # What may take minutes comes first, in this thread: an interrupt ends it, and nobody waits
        # for it after a failure.
        sources = {program: self._source(program) for program in (Program.LWS, Program.KWOK)}
        names = {program: images.name_of(program, source) for program, source in sources.items()}
        objects = lws.prepared(self._manifests(), image=names[Program.LWS])
        pool = ThreadPoolExecutor(max_workers=3, thread_name_prefix="kind")
        try:
            loaded = [
                pool.submit(self._load_image, program, source, name=names[program])
                for program, source in sources.items()
            ]
            self._kind.create()
            self._connect()
            for namespace, name in _ADDONS:
                self._move_to_real_node(_DEPLOYMENTS.format(namespace, name))
            version = f"v{self.versions[Program.APISERVER.value]}"
            self._post(_NODES, manifests.simulated_nodes(self._nodes, version=version))
            crds = [each for each in objects if each["kind"] == _CRD]
            # Not applied: to account for the fields of such a schema costs the server seconds.
            self._post(_CRDS, crds := [*manifests.pod_group_crd(), *crds])
            self._await("new kinds", lambda: readiness.discovered(self.api, crds))
            restarted = pool.submit(restart_controller_manager, self._docker, self.node)
            for each in loaded:
                each.result()
            rest = [each for each in objects if each["kind"] != _CRD]
            apply_manifests(self.api, [*kwok.objects(names[Program.KWOK]), *rest])
            restarted.result()
        finally:
            self._given_up.set()
            pool.shutdown(wait=False, cancel_futures=True)
        self._wait_ready()

    def reuse(self, *, made_at: float) -> None:
        """Use a kept cluster, made at that time (seconds since the epoch): with an empty audit log
        and valid certificates."""
        # The API server appends, so that its next line is the first of this run.
        self._directory.audit_log.open("w").close()
        self._kind.reuse()
        self._connect()
        if time.time() - made_at > LIFETIME.total_seconds() / 2:
            source = self._source(Program.LWS)
            name = images.name_of(Program.LWS, source)
            self._load_image(Program.LWS, source, name=name)
            objects = lws.prepared(self._manifests(), image=name)
            apply_manifests(self.api, [each for each in objects if each["kind"] != _CRD])
        self._wait_ready()

    def close(self) -> None:
        """Drop the connections."""
        if self._api is not None:
            self._api.close()

    # Parts.

    def _config(self) -> dict[str, Any]:
        directory = self._directory
        return cluster_config(
            self._options,
            settings=directory.settings,
            audit=directory.audit,
            mirrors=directory.mirrors if self._options.mirrors else None,
        )

    def _write_files(self) -> None:
        directory = self._directory
        for folder in (directory.settings, directory.audit):
            folder.mkdir(mode=0o700, exist_ok=True)
        (directory.settings / "audit-policy.yaml").write_bytes(manifests.text("audit-policy.yaml"))
        (directory.settings / "scheduler.yaml").write_text(
            yaml.safe_dump(configuration.scheduler(SCHEDULER_KUBECONFIG)), encoding="utf-8"
        )
        # Ours from the start: one that root makes in the node could not be read by another user.
        write_private(directory.audit_log, b"")
        for registry, mirror in self._options.mirrors.items():
            hosts = directory.mirrors / registry / "hosts.toml"
            hosts.parent.mkdir(parents=True, exist_ok=True)
            hosts.write_text(mirror_file(registry, mirror), encoding="utf-8")
        directory.config.write_text(
            yaml.safe_dump(self._config(), sort_keys=False), encoding="utf-8"
        )

    def _connect(self) -> None:
        access.write_suite_kubeconfig(self._directory, docker=self._docker, node=self.node)
        self._api = Api.from_kubeconfig(self._directory.suite, connections=4)
        self._await("the API server", lambda: readiness.answers(self.api, "/readyz"))
        server = str(self.api.get("/version")["gitVersion"]).removeprefix("v")
        kubernetes = (Program.APISERVER, Program.CONTROLLER_MANAGER, Program.SCHEDULER)
        self.versions = {
            **{program.value: server for program in kubernetes},
            Program.LWS.value: PINS[Program.LWS].version,
            Program.KWOK.value: PINS[Program.KWOK].version,
            "kind": self._kind.version(),
            "node image": self._options.node_image,
        }

    def _post(self, path: str, objects: Objects) -> None:
        for each in objects:
            answer = self.api.request("POST", path, each)
            raise_for(answer, f"creating {each['kind']} {each['metadata']['name']}")

    def _manifests(self) -> Objects:
        return lws.manifests(
            environ=self._environ,
            kustomize=lambda directory: self._kind.kubectl("kustomize", directory),
            progress=self._progress,
        )

    def _source(self, program: Program) -> str | Path:
        return images.find(
            program, docker=self._docker, environ=self._environ, progress=self._progress
        )

    def _load_image(self, program: Program, source: str | Path, *, name: str) -> None:
        """Have the image in the node. Its containerd answers long before its API server."""
        if isinstance(source, Path):
            images.build(program, source, name=name, docker=self._docker)
        while not containerd_answers(self._docker, self._directory.cluster, self.node):
            if self._given_up.wait(0.5):
                raise InfraError("the start of the kind cluster was given up")
        self._kind.load_image(name)

    def _move_to_real_node(self, path: str) -> None:
        answer = self.api.request("GET", path)
        if answer.code == 404:
            return
        spec = on_real_node(raise_for(answer, f"GET {path}").body["spec"]["template"]["spec"])
        changed = {key: spec[key] for key in ("tolerations", "nodeSelector")}
        # Every 10 s is what is usual, and what a start would wait for.
        changed["containers"] = [
            {"name": each["name"], "readinessProbe": {"periodSeconds": 1}}
            for each in spec["containers"]
            if "readinessProbe" in each
        ]
        body = {"spec": {"replicas": 1, "template": {"spec": changed}}}
        patched = self.api.request("PATCH", path, body, PatchType.STRATEGIC)
        raise_for(patched, f"moving {path} to the real node")

    def _wait_ready(self) -> None:
        api = self.api
        names = [f"node-{index}" for index in range(self._nodes)]
        self._await("nodes ready", lambda: readiness.nodes_ready(api, len(names) + 1))
        self._await("service accounts", lambda: readiness.answers(api, readiness.DEFAULT_ACCOUNT))
        self._await("KWOK", lambda: readiness.kwok_works(api, names))
        self._await("LWS webhook", lambda: readiness.lws_answers(api))
        for what, namespace, name in (
            ("LWS controller", lws.NAMESPACE, lws.DEPLOYMENT),
            ("KWOK alone", kwok.NAMESPACE, kwok.NAME),
            ("DNS", *_ADDONS[0]),
        ):
            path = _DEPLOYMENTS.format(namespace, name)
            self._await(what, functools.partial(readiness.rolled_out, api, path))

    def _await(self, what: str, probe: Callable[[], bool]) -> None:
        readiness.wait_until(
            probe,
            within=STEP_SECONDS,
            every=0.1,
            what=f"{what} of the kind cluster {self._directory.cluster}",
        )
