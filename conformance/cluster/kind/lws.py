"""The LeaderWorkerSet controller in a cluster: its own manifests, and the few changes to them."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import json
import os
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster import _crds, components
from conformance.cluster._download import PROBE_SECONDS
from conformance.cluster._gobuild import Toolchain
from conformance.cluster._progress import Progress
from conformance.cluster._sources import cache_root, home
from conformance.cluster.certificates import Authority
from conformance.cluster.components import Layout, Ports
from conformance.cluster.kind.pins import LWS_MANIFESTS, LWS_RELEASES, LWS_RELEASES_VARIABLE
from conformance.cluster.nodes import on_real_node
from conformance.cluster.pins import LWS_MODULE, PINS, Program
from conformance.model.errors import InfraError

NAMESPACE = "lws-system"
DEPLOYMENT = "lws-controller-manager"
USER = f"system:serviceaccount:{NAMESPACE}:lws-controller-manager"
"""Its name in the audit log."""

_SERVICE = "lws-webhook-service"
_SECRET = "lws-webhook-server-cert"
_CONFIG = "lws-manager-config"
_CONFIG_KEY = "controller_manager_config.yaml"
_LARGEST = 20 << 20
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Objects = list[dict[str, Any]]


def manifests(
    *, environ: Mapping[str, str], kustomize: Callable[[str], str], progress: Progress
) -> Objects:
    """The manifests of the pinned release: from the release itself, or, where that cannot be
    reached, from its Go module by `kustomize` (a directory in, YAML out). Both are kept in the
    suite's cache. Raises InfraError."""
    cache = cache_root(environ) / f"lws-{PINS[Program.LWS].version}-manifests"
    base = environ.get(LWS_RELEASES_VARIABLE, LWS_RELEASES).rstrip("/")
    if base:
        url = f"{base}/{LWS_MANIFESTS}"
        kept = cache / f"{hashlib.sha256(url.encode()).hexdigest()[:12]}.json"
        with contextlib.suppress(OSError, ValueError):
            return _load(kept)
        try:
            return _store(kept, _fetch(url))
        except (OSError, http.client.HTTPException, ValueError, InfraError) as error:
            progress.say(f"{url} is not taken ({error}); the manifests come from {LWS_MODULE}")
    kept = cache / "module.json"
    with contextlib.suppress(OSError, ValueError):
        return _load(kept)
    module = _module(environ, progress)
    return _store(kept, kustomize(str(module / "config" / "default")))


def prepared(objects: Sequence[Mapping[str, Any]], *, image: str) -> Objects:
    """The manifests as they are applied: with our image, on the real node, with certificates of
    ours (its own certificate manager writes a Secret that a running pod sees a minute later), and
    as fast as on the embedded control plane."""
    authority = Authority()
    pair = authority.server([f"{_SERVICE}.{NAMESPACE}.svc"])
    files = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.certificate}
    result: Objects = json.loads(json.dumps(list(objects)))
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
            each["data"] = {_CONFIG_KEY: yaml.safe_dump(_configuration())}
        elif (kind, name) == ("Deployment", DEPLOYMENT):
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
    # It asks for a whole processor, of which a small machine has no second one to give.
    container.pop("resources", None)
    container["readinessProbe"] |= {"initialDelaySeconds": 0, "periodSeconds": 1}
    template["spec"] = pod


def _configuration() -> dict[str, Any]:
    """That of the embedded control plane, but for addresses."""
    nowhere = Layout(directory=Path("/unused"), logs=Path("/unused"))
    ports = Ports(etcd=0, etcd_peer=0, apiserver=0, lws_webhook=0)
    same = components.lws_configuration(nowhere, ports)
    kept = ("apiVersion", "kind", "internalCertManagement", "leaderElection", "clientConnection")
    return {key: same[key] for key in kept}


def _fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=PROBE_SECONDS) as response:
        content: bytes = response.read(_LARGEST)
    return content.decode("utf-8")


def _module(environ: Mapping[str, str], progress: Progress) -> Path:
    """The directory of the Go module, downloaded if need be."""
    go_path = environ.get("GOPATH") or os.path.join(home(environ), "go")
    module = Path(environ.get("GOMODCACHE") or os.path.join(go_path, "pkg", "mod")) / LWS_MODULE
    if module.is_dir():
        return module
    toolchain = Toolchain(environ=environ, cache=cache_root(environ), progress=progress)
    with progress.step(f"downloading the Go module {LWS_MODULE}"):
        return toolchain.module_directory(LWS_MODULE, required_by=PINS[Program.LWS].module)


def _store(target: Path, text: str) -> Objects:
    """Parse, check and keep the manifests. Raises InfraError if they are not what is expected."""
    try:
        objects = [each for each in yaml.load_all(text, Loader=_LOADER) if each is not None]
        present = {(each["kind"], each["metadata"]["name"]) for each in objects}
    except (yaml.YAMLError, TypeError, KeyError) as error:
        raise InfraError(f"it holds no manifests: {str(error).splitlines()[0]}") from error
    for wanted in (("Deployment", DEPLOYMENT), ("Secret", _SECRET), ("ConfigMap", _CONFIG)):
        if wanted not in present:
            raise InfraError(
                f"the manifests of LeaderWorkerSet lack {' '.join(wanted)}; expected those of "
                f"v{PINS[Program.LWS].version}"
            )
    for each in objects:
        if each["kind"] == "CustomResourceDefinition":
            for version in each["spec"]["versions"]:
                _crds._strip(version["schema"])
    _crds.store(json.dumps(objects, separators=(",", ":")).encode(), target)
    return objects


def _load(path: Path) -> Objects:
    objects: Objects = json.loads(path.read_bytes())
    return objects
