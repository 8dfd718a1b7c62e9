"""The LeaderWorkerSet controller in a cluster: its own manifests, and the few changes to them."""

import base64
import contextlib
import copy
import hashlib
import http.client
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster.certificates import Authority
from conformance.cluster.embedded.configuration import LWS_CONTROLLER
from conformance.cluster.kind.controllers import LWS
from conformance.cluster.nodes import on_real_node
from conformance.cluster.programs import lws_manifests
from conformance.cluster.programs.download import PROBE_SECONDS
from conformance.cluster.programs.lws_manifests import Objects
from conformance.cluster.programs.pins import LWS_MODULE, PINS, Program
from conformance.cluster.programs.progress import Progress
from conformance.cluster.programs.sources import cache_root
from conformance.model.errors import InfraError

RELEASES = "https://github.com/kubernetes-sigs/lws/releases/download"
RELEASES_VARIABLE = "DGD_CONFORMANCE_LWS_URL"
"""Another base URL of the releases; empty: the manifests come from the Go module."""

_SECRET = "lws-webhook-server-cert"
_CONFIG = "lws-manager-config"
_CONFIG_KEY = "controller_manager_config.yaml"
_LARGEST = 20 << 20


def manifests(
    *, environ: Mapping[str, str], kustomize: Callable[[str], str], progress: Progress
) -> Objects:
    """The pinned release's: as it was released or, where that cannot be reached, from its Go module
    by `kustomize` (a directory in, YAML out). Both are kept in the cache. Raises InfraError."""
    version = PINS[Program.LWS].version
    cache = cache_root(environ) / f"lws-{version}-manifests"
    base = environ.get(RELEASES_VARIABLE, RELEASES).rstrip("/")
    if base:
        url = f"{base}/v{version}/manifests.yaml"
        kept = cache / f"{hashlib.sha256(url.encode()).hexdigest()[:12]}.json"
        with contextlib.suppress(OSError, ValueError):
            return lws_manifests.load(kept)
        try:
            with urllib.request.urlopen(url, timeout=PROBE_SECONDS) as response:
                return _store(kept, response.read(_LARGEST).decode())
        except (OSError, http.client.HTTPException, ValueError, InfraError) as error:
            progress.say(f"{url} is not taken ({error}); the manifests come from {LWS_MODULE}")
    kept = cache / "module.json"
    with contextlib.suppress(OSError, ValueError):
        return lws_manifests.load(kept)
    module = lws_manifests.module_directory(environ, progress)
    return _store(kept, kustomize(str(module / "config" / "default")))


def prepared(objects: Objects, *, image: str) -> Objects:
    """As they are applied: with our image, on the real node, as fast as on the embedded control plane,
    and with certificates of ours: its own manager's reach a running pod a minute later."""
    authority = Authority()
    pair = authority.server([f"lws-webhook-service.{LWS.namespace}.svc"])
    files = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.certificate}
    result = copy.deepcopy(objects)
    for each in result:
        kind, name = each["kind"], each["metadata"]["name"]
        if kind.endswith("WebhookConfiguration"):
            for webhook in each["webhooks"]:
                webhook["clientConfig"]["caBundle"] = authority.bundle
        elif kind == "CustomResourceDefinition":
            # There is one version: the webhook would never be asked.
            each["spec"]["conversion"] = {"strategy": "None"}
        elif (kind, name) == ("Secret", _SECRET):
            each["data"] = {key: base64.b64encode(value).decode() for key, value in files.items()}
        elif (kind, name) == ("ConfigMap", _CONFIG):
            each["data"] = {_CONFIG_KEY: yaml.safe_dump(LWS_CONTROLLER)}
        elif (kind, name) == ("Deployment", LWS.name):
            _adapt(each, image=image, revision=hashlib.sha256(pair.certificate).hexdigest()[:12])
    return result


def _adapt(deployment: dict[str, Any], *, image: str, revision: str) -> None:
    spec = deployment["spec"]
    spec["replicas"] = 1
    template = spec["template"]
    # A pod that runs already would see the new certificate a minute later.
    template["metadata"].setdefault("annotations", {})["conformance.dgd.dev/certificate"] = revision
    pod = on_real_node(template["spec"])
    container = pod["containers"][0]
    container |= {"image": image, "imagePullPolicy": "IfNotPresent"}
    container["args"] = [f"--config=/{_CONFIG_KEY}", "--zap-log-level=info"]
    # It requests one CPU, and a small machine has no second one to give.
    container.pop("resources", None)
    container["readinessProbe"] |= {"initialDelaySeconds": 0, "periodSeconds": 1}
    template["spec"] = pod


def _store(target: Path, text: str) -> Objects:
    """Raises InfraError if they are not what is expected."""
    objects = lws_manifests.parse(text)
    present = {(each["kind"], each["metadata"]["name"]) for each in objects}
    for wanted in (("Deployment", LWS.name), ("Secret", _SECRET), ("ConfigMap", _CONFIG)):
        if wanted not in present:
            raise InfraError(
                f"the manifests of LeaderWorkerSet lack {' '.join(wanted)}; expected those of "
                f"v{PINS[Program.LWS].version}"
            )
    lws_manifests.store(objects, target)
    return objects
