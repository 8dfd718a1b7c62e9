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

from conformance.cluster import components
from conformance.cluster._progress import Progress
from conformance.cluster.certificates import LIFETIME, write_private
from conformance.cluster.kind import access, images, lws, platform, settled
from conformance.cluster.kind.cluster import Kind
from conformance.cluster.kind.config import cluster_config, mirror_file, scheduler_configuration
from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.options import KindOptions
from conformance.cluster.kind.places import Place
from conformance.cluster.nodes import on_real_node
from conformance.cluster.pins import PINS, Program
from conformance.cluster.supervise import wait_until
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
        place: Place,
        options: KindOptions,
        nodes: int,
        environ: Mapping[str, str],
    ) -> None:
        self.times: dict[str, float] = {}
        self.versions: dict[str, str] = {}
        self._kind = kind
        self._docker = docker
        self._place = place
        self._options = options
        self._nodes = nodes
        self._environ = environ
        self._progress = Progress()
        self._began = time.monotonic()
        self._given_up = threading.Event()
        self._api: Api | None = None

    @property
    def api(self) -> Api:
        """A client with the suite's identity, once the API server is there."""
        if self._api is None:
            raise InfraError(f"the kind cluster {self._place.cluster} has no API server yet")
        return self._api

    @property
    def node(self) -> str:
        """Name of the real node, and of its container."""
        return f"{self._place.cluster}-control-plane"

    def fingerprint(self) -> str:
        """Of all that a kept cluster cannot change any more."""
        facts = [
            self._config(),
            self._options.node_image,
            self._nodes,
            PINS[Program.LWS].version,
            PINS[Program.KWOK].version,
            components.text("audit-policy.yaml").decode(),
            components.text("kwok-stages.yaml").decode(),
            scheduler_configuration(),
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
        self._reached("sources found")
        pool = ThreadPoolExecutor(max_workers=3, thread_name_prefix="kind")
        try:
            loaded = [
                pool.submit(self._load_image, program, source, name=names[program])
                for program, source in sources.items()
            ]
            self._kind.create()
            self._reached("cluster created")
            self._connect()
            for namespace, name in _ADDONS:
                self._move_to_real_node(_DEPLOYMENTS.format(namespace, name))
            version = f"v{self.versions[Program.APISERVER.value]}"
            self._post(_NODES, platform.simulated_nodes(self._nodes, version=version))
            crds = [each for each in objects if each["kind"] == _CRD]
            # Not applied: to account for the fields of such a schema costs the server seconds.
            self._post(_CRDS, crds := [*platform.pod_group_crd(), *crds])
            self._wait("new kinds", lambda: settled.discovered(self.api, crds))
            self._reached("kinds installed")
            restarted = pool.submit(self.restart_controller_manager)
            for each in loaded:
                each.result()
            self._reached("images loaded")
            rest = [each for each in objects if each["kind"] != _CRD]
            apply_manifests(self.api, [*platform.kwok(names[Program.KWOK]), *rest])
            restarted.result()
            self._reached("objects applied")
        finally:
            self._given_up.set()
            pool.shutdown(wait=False, cancel_futures=True)
        self._wait_ready()

    def reuse(self, *, made_at: float) -> None:
        """Use a kept cluster, made at that time (seconds since the epoch): with an empty audit log
        and valid certificates."""
        # The API server appends, so that its next line is the first of this run.
        self._place.audit_log.open("w").close()
        self._kind.reuse()
        self._connect()
        if time.time() - made_at > LIFETIME.total_seconds() / 2:
            source = self._source(Program.LWS)
            name = images.name_of(Program.LWS, source)
            self._load_image(Program.LWS, source, name=name)
            objects = lws.prepared(self._manifests(), image=name)
            apply_manifests(self.api, [each for each in objects if each["kind"] != _CRD])
        self._wait_ready()

    def restart_controller_manager(self) -> None:
        """End kube-controller-manager and wait until another one answers."""
        settled.restart_controller_manager(self._docker, self.node)

    def close(self) -> None:
        """Drop the connections."""
        if self._api is not None:
            self._api.close()

    # Parts.

    def _config(self) -> dict[str, Any]:
        place = self._place
        return cluster_config(
            self._options,
            settings=place.settings,
            audit=place.audit,
            mirrors=place.mirrors if self._options.mirrors else None,
        )

    def _write_files(self) -> None:
        place = self._place
        for directory in (place.settings, place.audit):
            directory.mkdir(mode=0o700, exist_ok=True)
        (place.settings / "audit-policy.yaml").write_bytes(components.text("audit-policy.yaml"))
        (place.settings / "scheduler.yaml").write_text(
            yaml.safe_dump(scheduler_configuration()), encoding="utf-8"
        )
        # Ours from the start: one that root makes in the node could not be read by another user.
        write_private(place.audit_log, b"")
        for registry, mirror in self._options.mirrors.items():
            hosts = place.mirrors / registry / "hosts.toml"
            hosts.parent.mkdir(parents=True, exist_ok=True)
            hosts.write_text(mirror_file(registry, mirror), encoding="utf-8")
        place.config.write_text(yaml.safe_dump(self._config(), sort_keys=False), encoding="utf-8")

    def _connect(self) -> None:
        access.write_suite_kubeconfig(self._place, docker=self._docker, node=self.node)
        self._api = Api.from_kubeconfig(self._place.suite, connections=4)
        self._wait("the API server", lambda: settled.answers(self.api, "/readyz"))
        server = str(self.api.get("/version")["gitVersion"]).removeprefix("v")
        kubernetes = (Program.APISERVER, Program.CONTROLLER_MANAGER, Program.SCHEDULER)
        self.versions = {
            **{program.value: server for program in kubernetes},
            Program.LWS.value: PINS[Program.LWS].version,
            Program.KWOK.value: PINS[Program.KWOK].version,
            "kind": self._kind.version(),
            "node image": self._options.node_image,
        }
        self._reached("API server answers")

    def _post(self, path: str, objects: lws.Objects) -> None:
        for each in objects:
            answer = self.api.request("POST", path, each)
            raise_for(answer, f"creating {each['kind']} {each['metadata']['name']}")

    def _manifests(self) -> lws.Objects:
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
        while not settled.containerd_answers(self._docker, self._place.cluster, self.node):
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
        self._await("nodes ready", lambda: settled.nodes_ready(api, self._nodes))
        self._await("service accounts", lambda: settled.answers(api, settled.DEFAULT_ACCOUNT))
        self._await("KWOK", lambda: settled.kwok_works(api, self._nodes))
        self._await("LWS webhook", lambda: settled.lws_answers(api))
        for milestone, namespace, name in (
            ("LWS controller", lws.NAMESPACE, lws.DEPLOYMENT),
            ("KWOK alone", platform.NAMESPACE, platform.KWOK),
            ("DNS", *_ADDONS[0]),
        ):
            path = _DEPLOYMENTS.format(namespace, name)
            self._await(milestone, functools.partial(settled.rolled_out, api, path))

    def _await(self, milestone: str, probe: Callable[[], bool]) -> None:
        self._wait(milestone, probe)
        self._reached(milestone)

    def _wait(self, what: str, probe: Callable[[], bool]) -> None:
        wait_until(
            probe,
            within=STEP_SECONDS,
            every=0.1,
            what=f"{what} of the kind cluster {self._place.cluster}",
        )

    def _reached(self, milestone: str) -> None:
        self.times[milestone] = round(time.monotonic() - self._began, 3)
