"""The Kubernetes API over urllib3: one kept-alive pool for requests, one for watches."""

import base64
import json
import os
import ssl
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3

from .objects import OPERATOR, Kind, Object, generation_of, meta, uid_of

REQUEST_TIMEOUT_SECONDS = 30.0
WATCH_SECONDS = 280
"""How long the server keeps a watch open before the client resumes it."""
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_SECONDS = 60.0
"""The kubelet replaces a token long before it expires; it is read again this often."""
WATCH_SILENCE_SECONDS = 150.0
"""Bookmarks come about once a minute: a stream silent for this long is taken for dead."""

_JSON = "application/json"
_MERGE_PATCH = "application/merge-patch+json"
_JSON_PATCH = "application/json-patch+json"
_METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


class ApiError(Exception):
    """The API server answered with something else than success."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code = code
        self.reason = reason
        self.message = message

    @property
    def is_not_found(self) -> bool:
        return self.code == 404

    @property
    def is_conflict(self) -> bool:
        return self.code == 409

    @property
    def is_rejection(self) -> bool:
        """The request itself is at fault: an unchanged retry cannot succeed."""
        return self.code in (400, 403, 422)


class ConfigError(Exception):
    """The kubeconfig cannot be used; the message says which part and why."""


@dataclass(frozen=True)
class Connection:
    """Where the API server is and how the operator proves who it is."""

    server: str
    context: ssl.SSLContext | None
    headers: Mapping[str, str]
    token_file: Path | None = None
    """Holds a bearer token that is replaced from time to time."""


def in_pod(folder: Path = SERVICE_ACCOUNT) -> Connection:
    """The API server as a pod finds it, under its ServiceAccount. Raises ConfigError."""
    host, port = (os.environ.get(f"KUBERNETES_SERVICE_{name}") for name in ("HOST", "PORT"))
    if not host or not port:
        raise ConfigError("--kubeconfig is missing, and this is no pod of a cluster")
    try:
        context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
        (folder / "token").read_text(encoding="ascii")
    except OSError as error:
        raise ConfigError(f"{folder} lacks the pod's ServiceAccount: {error.strerror}") from error
    # The cluster's own certificates may lack what the strict mode of Python 3.13 asks for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    address = f"[{host}]" if ":" in host else host
    return Connection(f"https://{address}:{port}", context, {}, token_file=folder / "token")


def load_kubeconfig(path: Path) -> Connection:
    """Read the current context of a kubeconfig. Raises ConfigError with the missing part."""
    # Here, since a pod has none and its image needs no YAML.
    import yaml

    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"kubeconfig {path} cannot be read: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"kubeconfig {path} is not YAML: {error}") from error
    if not isinstance(config, dict):
        raise ConfigError(f"kubeconfig {path} is empty: expected clusters, users and contexts")
    current = config.get("current-context") or ""
    context = _named(config, "contexts", current, "context", path)
    cluster = _named(config, "clusters", context.get("cluster", ""), "cluster", path)
    user = _named(config, "users", context.get("user", ""), "user", path)
    server = cluster.get("server")
    if not server:
        raise ConfigError(f"kubeconfig {path}: cluster {context['cluster']!r} has no server")
    token = user.get("token")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    tls = _tls_context(cluster, user, path.parent) if server.startswith("https:") else None
    return Connection(server=server.rstrip("/"), context=tls, headers=headers)


def _named(config: Object, section: str, name: str, field: str, path: Path) -> Object:
    for entry in config.get(section) or []:
        if entry.get("name") == name:
            found: Object = entry.get(field) or {}
            return found
    raise ConfigError(f"kubeconfig {path}: {section} has no entry named {name!r}")


def _tls_context(cluster: Object, user: Object, folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority = _material(cluster, "certificate-authority", folder)
    if authority is not None:
        context.load_verify_locations(cadata=authority.decode())
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate = _material(user, "client-certificate", folder)
    key = _material(user, "client-key", folder)
    if certificate is not None and key is not None:
        # The ssl module reads a key pair from files only.
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(certificate + b"\n" + key)
            pair.flush()
            context.load_cert_chain(pair.name)
    return context


def _material(section: Object, name: str, folder: Path) -> bytes | None:
    if data := section.get(f"{name}-data"):
        return base64.b64decode(data)
    if file := section.get(name):
        return (folder / Path(file).expanduser()).read_bytes()
    return None


class Client:
    """Reads and writes objects. Safe for use by several threads."""

    def __init__(self, connection: Connection) -> None:
        self._server = connection.server
        self._fixed_headers = {"User-Agent": OPERATOR, **connection.headers}
        self._token_file = connection.token_file
        self._token = ("", 0.0)
        options: dict[str, Any] = {"retries": False}
        if connection.context is not None:
            options["ssl_context"] = connection.context
        self._pool = urllib3.connection_from_url(self._server, maxsize=8, **options)
        self._watches = urllib3.connection_from_url(self._server, maxsize=16, **options)

    def list(self, kind: Kind, query: Mapping[str, str], *, metadata_only: bool) -> Object:
        return self._request(
            "GET",
            kind.path(),
            query=query,
            accept=_METADATA_LIST if metadata_only else _JSON,
        )

    def get(self, kind: Kind, namespace: str, name: str) -> Object | None:
        try:
            return self._request("GET", kind.path(namespace, name))
        except ApiError as error:
            if error.is_not_found:
                return None
            raise

    def create(self, kind: Kind, body: Object) -> Object:
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        return self._request("POST", kind.path(meta(body)["namespace"]), body=body)

    def replace(self, kind: Kind, body: Object) -> Object:
        """Write the whole object; its resourceVersion guards against a change in between."""
        body = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        path = kind.path(meta(body)["namespace"], meta(body)["name"])
        return self._request("PUT", path, body=body)

    def merge_patch(self, kind: Kind, obj: Object, patch: Object) -> Object:
        path = kind.path(meta(obj)["namespace"], meta(obj)["name"])
        return self._request("PATCH", path, body=patch, content_type=_MERGE_PATCH)

    def write_status(self, kind: Kind, obj: Object, status: Object) -> Object:
        """Set the status of exactly this object.

        A patch that tests the uid cannot lose to a concurrent metadata change, as a replace
        would, nor land on a new object of the same name.
        """
        path = kind.path(meta(obj)["namespace"], meta(obj)["name"], "status")
        patch = [
            {"op": "test", "path": "/metadata/uid", "value": uid_of(obj)},
            {"op": "add", "path": "/status", "value": status},
        ]
        return self._request("PATCH", path, body=patch, content_type=_JSON_PATCH)

    def delete(self, kind: Kind, obj: Object, *, foreground: bool = False) -> Object:
        """Delete exactly this object. Gone, or replaced by another of its name, is success."""
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Foreground" if foreground else "Background",
            "preconditions": {"uid": uid_of(obj)},
        }
        path = kind.path(meta(obj)["namespace"], meta(obj)["name"])
        try:
            return self._request("DELETE", path, body=options)
        except ApiError as error:
            if error.is_not_found or error.is_conflict:
                return {}
            raise

    def watch(
        self, kind: Kind, query: Mapping[str, str], version: str, *, metadata_only: bool
    ) -> Iterator[Object]:
        """Events after the given resourceVersion, until the server ends the stream."""
        query = {
            **query,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        response = self._watches.request(
            "GET",
            f"{self._server}{kind.path()}?{urlencode(query)}",
            headers={**self._headers, "Accept": _METADATA if metadata_only else _JSON},
            timeout=urllib3.Timeout(connect=5.0, read=WATCH_SILENCE_SECONDS),
            preload_content=False,
        )
        try:
            if response.status != 200:
                raise _error(response.status, response.read())
            pending = b""
            for chunk in response.read_chunked():
                *lines, pending = (pending + chunk).split(b"\n")
                for line in lines:
                    if line.strip():
                        yield json.loads(line)
        finally:
            response.close()

    @property
    def _headers(self) -> dict[str, str]:
        if self._token_file is None:
            return self._fixed_headers
        token, read_at = self._token
        if not token or time.monotonic() - read_at > TOKEN_SECONDS:
            token = self._token_file.read_text(encoding="ascii").strip()
            self._token = (token, time.monotonic())
        return {**self._fixed_headers, "Authorization": f"Bearer {token}"}

    def _request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, str] | None = None,
        content_type: str = _JSON,
        accept: str = _JSON,
    ) -> Object:
        query = dict(query or {})
        if method in ("POST", "PUT", "PATCH"):
            query["fieldManager"] = OPERATOR
        url = f"{self._server}{path}" + (f"?{urlencode(query)}" if query else "")
        headers = {**self._headers, "Accept": accept}
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = json.dumps(body).encode()
        response = self._pool.request(
            method, url, body=data, headers=headers, timeout=REQUEST_TIMEOUT_SECONDS
        )
        if response.status >= 300:
            raise _error(response.status, response.data)
        answer: Object = json.loads(response.data)
        return answer


def _error(code: int, body: bytes) -> ApiError:
    try:
        status = json.loads(body)
        return ApiError(code, str(status.get("reason") or ""), str(status.get("message") or ""))
    except (ValueError, AttributeError):
        return ApiError(code, "", body.decode(errors="replace")[:300])


def describe(kind: Kind, obj: Object) -> str:
    """``Kind namespace/name (generation n)``, for the log."""
    generation = generation_of(obj)
    suffix = f" (generation {generation})" if generation else ""
    return f"{kind.kind} {meta(obj).get('namespace')}/{meta(obj).get('name')}{suffix}"
