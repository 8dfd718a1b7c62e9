"""The start of a kind cluster, step by step."""

import contextlib
import functools
import hashlib
import json
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from conformance.cluster import manifests, readiness
from conformance.cluster.certificates import LIFETIME
from conformance.cluster.embedded import configuration
from conformance.cluster.identities import SUITE
from conformance.cluster.kind import controllers, lws
from conformance.cluster.kind.config import SCHEDULER_KUBECONFIG, cluster_config, write_files
from conformance.cluster.kind.controllers import KWOK, LWS, Controller
from conformance.cluster.kind.directories import KindDirectory
from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.options import KindOptions
from conformance.cluster.kind.pytest_kind import Kind
from conformance.cluster.kubeconfig import contexts
from conformance.cluster.nodes import on_real_node
from conformance.cluster.programs.lws_manifests import Objects
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.progress import Progress
from conformance.kube import Api, PatchType, apply_manifests, raise_for
from conformance.kube.resource import DEPLOYMENTS
from conformance.model.errors import InfraError

STEP_SECONDS = 180.0
"""For each thing that is waited for: 1-10 s on two busy cores, and an image may have to be pulled."""

SIMULATED_NODES = 4
"""With 128 GPUs each."""
_CRD = "CustomResourceDefinition"
_ADDONS = (("kube-system", "coredns"), ("local-path-storage", "local-path-provisioner"))
"""Deployments that come with a cluster. Not every node image has both."""


@dataclass(kw_only=True)
class Boot:
    """One attempt to start, or to use a kept cluster again."""

    kind: Kind
    docker: Docker
    options: KindOptions
    environ: Mapping[str, str]
    versions: dict[str, str] = field(default_factory=dict)
    _progress: Progress = field(default_factory=Progress)
    _given_up: threading.Event = field(default_factory=threading.Event)
    _api: Api | None = None

    @property
    def directory(self) -> KindDirectory:
        return self.kind.directory

    @property
    def api(self) -> Api:
        """With the suite's identity, once the API server is there."""
        if self._api is None:
            raise InfraError(f"the kind cluster {self.directory.cluster} has no API server yet")
        return self._api

    def fingerprint(self) -> str:
        """Of all that a kept cluster cannot change any more."""
        facts = [
            cluster_config(self.options, self.directory),
            self.options.node_image,
            SIMULATED_NODES,
            PINS[Program.LWS].version,
            PINS[Program.KWOK].version,
            manifests.text("audit-policy.yaml").decode(),
            manifests.text("kwok-stages.yaml").decode(),
            configuration.scheduler(SCHEDULER_KUBECONFIG),
        ]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def create(self) -> None:
        """Make the cluster and all that belongs into it. Raises UsageError, InfraError."""
        write_files(self.options, self.directory)
        # What may take minutes comes first, in this thread: an interrupt ends it, and nobody waits
        # for it after a failure.
        lws_image, kwok_image = self._image(LWS), self._image(KWOK)
        crds, rest = self._lws_objects(lws_image)
        pool = ThreadPoolExecutor(max_workers=3, thread_name_prefix="kind")
        try:
            loaded = [pool.submit(self._load, image) for image in (lws_image, kwok_image)]
            self.kind.create()
            self._connect()
            for namespace, name in _ADDONS:
                self._move_to_real_node(DEPLOYMENTS.path(namespace, name))
            version = f"v{self.versions[Program.APISERVER.value]}"
            # Not applied: to account for the fields of such a schema costs the server seconds.
            crds = [*manifests.pod_group_crd(), *crds]
            for each in (*manifests.simulated_nodes(SIMULATED_NODES, version=version), *crds):
                made = self.api.create(self.api.resource_for(each["kind"]), each)
                raise_for(made, f"creating {each['kind']} {each['metadata']['name']}")
            self._await("new kinds", lambda: readiness.discovered(self.api, crds))
            restarted = pool.submit(self.docker.restart_controller_manager, self.directory.node)
            for job in loaded:
                job.result()
            apply_manifests(self.api, [*controllers.kwok_objects(kwok_image), *rest])
            restarted.result()
        finally:
            self._given_up.set()
            pool.shutdown(wait=False, cancel_futures=True)
        self._wait_ready()

    def reuse(self, *, made_at: float) -> None:
        """Use a kept cluster, with an empty audit log and valid certificates. `made_at`: seconds
        since 1970."""
        # The API server appends, so that its next line is the first of this run.
        self.directory.audit_log.open("w").close()
        self.kind.reuse()
        self._connect()
        if time.time() - made_at > LIFETIME.total_seconds() / 2:
            image = self._image(LWS)
            self._load(image)
            apply_manifests(self.api, self._lws_objects(image)[1])
        self._wait_ready()

    def save_logs(self, directory: Path) -> None:
        """The audit log, what kind said, and what the parts said as far as it can be had."""
        directory.mkdir(parents=True, exist_ok=True)
        for source in (self.directory.audit_log, self.directory.log):
            if source.exists():
                shutil.copyfile(source, directory / source.name)
        with contextlib.suppress(InfraError):  # there may be no API server to ask
            for part in (LWS, KWOK):
                pods = f"/api/v1/namespaces/{part.namespace}/pods"
                names = [pod["metadata"]["name"] for pod in self.api.list(pods)[0]]
                for name in (each for each in names if each.startswith(part.name)):
                    log = self.api.request("GET", f"{pods}/{name}/log")
                    if log.ok:
                        (directory / f"{part.program.value}.log").write_text(str(log.body), "utf-8")

    def close(self) -> None:
        """Drop the connections."""
        if self._api is not None:
            self._api.close()

    def _connect(self) -> None:
        # A certificate that kubeadm signs in the node: the audit log tells the suite from kind,
        # which is kubernetes-admin.
        command = ["kubeadm", "kubeconfig", "user", "--config=/kind/kubeadm.conf"]
        command += [f"--client-name={SUITE}", "--org=system:masters"]
        minted = yaml.safe_load(self.docker.execute(self.directory.node, command))
        admin = contexts.read([self.directory.admin], f"kind-{self.directory.cluster}")
        suite = replace(admin, user=minted["users"][0]["user"])
        self._api = Api.from_kubeconfig(suite.write(self.directory.suite), connections=4)
        self._await("the API server", lambda: readiness.answers(self.api, "/readyz"))
        server = str(self.api.get("/version")["gitVersion"]).removeprefix("v")
        kubernetes = (Program.APISERVER, Program.CONTROLLER_MANAGER, Program.SCHEDULER)
        self.versions = {
            **{program.value: server for program in kubernetes},
            **{part.program.value: PINS[part.program].version for part in (LWS, KWOK)},
            "kind": self.kind.version(),
            "node image": self.options.node_image,
        }

    def _lws_objects(self, image: str) -> tuple[Objects, Objects]:
        """The CRDs of the LeaderWorkerSet controller, and the rest."""
        kustomize = functools.partial(self.kind.kubectl, "kustomize")
        found = lws.manifests(environ=self.environ, kustomize=kustomize, progress=self._progress)
        objects = lws.prepared(found, image=image)
        crds = [each for each in objects if each["kind"] == _CRD]
        return crds, [each for each in objects if each["kind"] != _CRD]

    def _image(self, controller: Controller) -> str:
        return controllers.image_of(
            controller, docker=self.docker, environ=self.environ, progress=self._progress
        )

    def _load(self, image: str) -> None:
        """Have the image in the node. Its containerd answers long before its API server."""
        while not self.docker.containerd_answers(self.directory.cluster, self.directory.node):
            if self._given_up.wait(0.5):
                raise InfraError("the start of the kind cluster was given up")
        self.kind.load_image(image)

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
        names = [f"node-{index}" for index in range(SIMULATED_NODES)]
        self._await("nodes ready", lambda: readiness.nodes_ready(api, len(names) + 1))
        self._await("service accounts", lambda: readiness.answers(api, readiness.DEFAULT_ACCOUNT))
        self._await("KWOK", lambda: readiness.kwok_works(api, names))
        self._await("LWS webhook", lambda: readiness.lws_answers(api))
        for what, namespace, name in (
            ("LWS controller", LWS.namespace, LWS.name),
            ("KWOK alone", KWOK.namespace, KWOK.name),
            ("DNS", *_ADDONS[0]),
        ):
            path = DEPLOYMENTS.path(namespace, name)
            self._await(what, functools.partial(readiness.rolled_out, api, path))

    def _await(self, what: str, probe: Callable[[], bool]) -> None:
        what = f"{what} of the kind cluster {self.directory.cluster}"
        readiness.wait_until(probe, within=STEP_SECONDS, every=0.1, what=what)
