"""A small API server over real sockets: one revision counter, lists, watches that a test can break.

It speaks what the suite reads: aggregated discovery, lists with a revision, watches with bookmarks,
410 for a version that was compacted. Faults are attributes and methods, named for what they do.
"""

import json
import queue
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from conformance.kube import Api, Resource

Raw = dict[str, Any]
POD = Resource("", "v1", "pods", "Pod", True)
SECRET = Resource("", "v1", "secrets", "Secret", True)
EVENT = Resource("", "v1", "events", "Event", True)
NEW_EVENT = Resource("events.k8s.io", "v1", "events", "Event", True)
NAMESPACE = Resource("", "v1", "namespaces", "Namespace", False)
DEPLOYMENT = Resource("apps", "v1", "deployments", "Deployment", True)
CRD = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False
)
_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


@dataclass
class Kind:
    """One served kind: its objects, its log, its open watches."""

    resource: Resource
    objects: dict[tuple[str, str], Raw] = field(default_factory=dict)
    log: list[tuple[int, str, Raw]] = field(default_factory=list)
    streams: list[queue.Queue[Raw | None]] = field(default_factory=list)
    compacted: int = 0
    watched_from: list[int] = field(default_factory=list)
    """The version of each watch request, in order."""
    lists: int = 0
    mute: bool = False
    """Open watches are told nothing, as by a server that hangs."""


class FakeApi:
    """Serves until `close()`. `kubeconfig(path)` writes one that leads here."""

    def __init__(self, *resources: Resource) -> None:
        self.revision = 100
        self.lock = threading.RLock()
        self.kinds: dict[str, Kind] = {}
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        """(method, path with query, headers, body) of everything that was asked."""
        self.answers: dict[tuple[str, str], Callable[[], tuple[int, Raw]]] = {}
        """(method, path) → what to answer instead."""
        self.aggregated = True
        for resource in resources:
            self.serve(resource)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """End all watches and the server."""
        for kind in self.kinds.values():
            self.end_watches(kind.resource)
        self._server.shutdown()
        self._server.server_close()

    def kubeconfig(self, path: Path) -> Path:
        return write_kubeconfig(path, self.url)

    def api(self, directory: Path) -> Api:
        return Api.from_kubeconfig(self.kubeconfig(directory / "kubeconfig"))

    def serve(self, resource: Resource) -> Kind:
        kind = Kind(resource)
        self.kinds[resource.path()] = kind
        return kind

    def kind(self, resource: Resource) -> Kind:
        return self.kinds[resource.path()]

    # What happens to objects ----------------------------------------------------------------

    def put(self, resource: Resource, name: str, namespace: str = "", **fields: Any) -> Raw:
        """Create or change an object; all watches of the kind see it."""
        with self.lock:
            kind = self.kind(resource)
            old = kind.objects.get((namespace, name))
            self.revision += 1
            meta: Raw = dict((old or {}).get("metadata") or {"uid": uuid.uuid4().hex})
            meta.update(fields.pop("metadata", {}), name=name, resourceVersion=str(self.revision))
            if namespace:
                meta["namespace"] = namespace
            obj = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
            obj.update(fields)
            kind.objects[namespace, name] = obj
            self._send(kind, "MODIFIED" if old else "ADDED", obj)
            return obj

    def delete(self, resource: Resource, name: str, namespace: str = "") -> Raw:
        with self.lock:
            kind = self.kind(resource)
            self.revision += 1
            obj: Raw = json.loads(json.dumps(kind.objects.pop((namespace, name))))
            obj["metadata"]["resourceVersion"] = str(self.revision)
            self._send(kind, "DELETED", obj)
            return obj

    def bookmark(self, resource: Resource) -> int:
        """Tell the watches the present revision."""
        with self.lock:
            meta = {"metadata": {"resourceVersion": str(self.revision)}}
            for stream in self.kind(resource).streams:
                stream.put({"type": "BOOKMARK", "object": {"kind": resource.kind, **meta}})
            return self.revision

    def _send(self, kind: Kind, type_: str, obj: Raw) -> None:
        kind.log.append((self.revision, type_, obj))
        for stream in () if kind.mute else kind.streams:
            stream.put({"type": type_, "object": obj})

    # What goes wrong ------------------------------------------------------------------------

    def end_watches(self, resource: Resource) -> None:
        """As the server does when a watch's time is over."""
        with self.lock:
            for stream in self.kind(resource).streams:
                stream.put(None)
            self.kind(resource).streams.clear()

    def compact(self, resource: Resource) -> None:
        """No watch can start from a version before now."""
        with self.lock:
            self.kind(resource).compacted = self.revision

    def fail_watches(self, resource: Resource, code: int, message: str) -> None:
        """An ERROR event within the stream."""
        with self.lock:
            status = {"kind": "Status", "code": code, "message": message}
            for stream in self.kind(resource).streams:
                stream.put({"type": "ERROR", "object": status})

    def wait_watched(self, resource: Resource, times: int = 1, within: float = 5.0) -> None:
        """Until the kind was watched so often."""
        end = time.monotonic() + within
        while len(self.kind(resource).watched_from) < times or not self.kind(resource).streams:
            assert time.monotonic() < end, f"{resource} was not watched {times} times"
            time.sleep(0.005)

    # Answers --------------------------------------------------------------------------------

    def discovery(self, root: str) -> Raw:
        groups: dict[str, dict[str, list[Raw]]] = {}
        for kind in self.kinds.values():
            r = kind.resource
            if bool(r.group) == (root == "/apis"):
                row = {
                    "resource": r.plural,
                    "responseKind": {"kind": r.kind},
                    "scope": "Namespaced" if r.namespaced else "Cluster",
                    "verbs": _VERBS,
                }
                groups.setdefault(r.group, {}).setdefault(r.version, []).append(row)
        items = [
            {
                "metadata": {"name": group},
                "versions": [{"version": v, "resources": rows} for v, rows in versions.items()],
            }
            for group, versions in groups.items()
        ]
        return {"kind": "APIGroupDiscoveryList", "items": items}

    def listed(self, kind: Kind, namespace: str) -> Raw:
        with self.lock:
            kind.lists += 1
            items = [o for (ns, _), o in kind.objects.items() if namespace in ("", ns)]
            meta = {"resourceVersion": str(self.revision)}
            return {"kind": f"{kind.resource.kind}List", "metadata": meta, "items": items}

    def opened(self, kind: Kind, since: int) -> queue.Queue[Raw | None] | None:
        with self.lock:
            kind.watched_from.append(since)
            if since < kind.compacted:
                return None
            stream: queue.Queue[Raw | None] = queue.Queue()
            for revision, type_, obj in kind.log:
                if revision > since:
                    stream.put({"type": type_, "object": obj})
            kind.streams.append(stream)
            return stream


def write_kubeconfig(path: Path, url: str) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "fake",
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}],
        "clusters": [{"name": "fake", "cluster": {"server": url}}],
        "users": [{"name": "fake", "user": {"token": "fake-token"}}],
    }
    path.write_text(json.dumps(config))
    return path


def _handler(fake: FakeApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            data = self.rfile.read(length)
            body = json.loads(data) if data else None
            fake.requests.append((self.command, self.path, dict(self.headers), body))
            url = urlsplit(self.path)
            query = parse_qs(url.query)
            scripted = fake.answers.get((self.command, url.path))
            if scripted is not None:
                return self.answer(*scripted())
            if url.path in ("/api", "/apis"):
                if fake.aggregated:
                    return self.answer(200, fake.discovery(url.path))
                return self.answer(200, _classic_root(fake, url.path))
            path, namespace = _split(url.path)
            kind = fake.kinds.get(path)
            if kind is None:
                classic = _classic_group(fake, url.path)
                if classic is not None:
                    return self.answer(200, classic)
                return self.answer(404, _status(404, "NotFound", f"{path} is not served"))
            if "watch" in query:
                return self.watch(kind, int(query["resourceVersion"][0]))
            return self.answer(200, fake.listed(kind, namespace))

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = handle_any  # noqa: N815

        def answer(self, code: int, body: Raw) -> None:
            data = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if code == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(data)

        def watch(self, kind: Kind, since: int) -> None:
            stream = fake.opened(kind, since)
            if stream is None:
                self.answer(410, _status(410, "Expired", f"too old resource version: {since}"))
                return
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while True:
                event = stream.get()
                data = b"" if event is None else json.dumps(event).encode() + b"\n"
                try:
                    # In two pieces: a line may come in any number of chunks.
                    for part in (data[:7], data[7:]) if data else (b"",):
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                        self.wfile.flush()
                except OSError:
                    return
                if not data:
                    return

    return Handler


def _split(path: str) -> tuple[str, str]:
    parts = path.split("/")
    if "namespaces" in parts and len(parts) > parts.index("namespaces") + 2:
        at = parts.index("namespaces")
        return "/".join(parts[:at] + parts[at + 2 :]), parts[at + 1]
    return path, ""


def _status(code: int, reason: str, message: str) -> Raw:
    return {"kind": "Status", "code": code, "reason": reason, "message": message}


def _classic_root(fake: FakeApi, root: str) -> Raw:
    if root == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    groups: dict[str, list[str]] = {}
    for kind in fake.kinds.values():
        if kind.resource.group:
            groups.setdefault(kind.resource.group, []).append(kind.resource.version)
    return {
        "kind": "APIGroupList",
        "groups": [
            {
                "name": group,
                "preferredVersion": {"version": versions[-1]},
                "versions": [{"version": version} for version in versions],
            }
            for group, versions in groups.items()
        ],
    }


def _classic_group(fake: FakeApi, path: str) -> Raw | None:
    rows = [
        {"name": r.plural, "kind": r.kind, "namespaced": r.namespaced, "verbs": _VERBS}
        for r in (kind.resource for kind in fake.kinds.values())
        if r.path().rpartition("/")[0] == path
    ]
    subresources = [{**row, "name": f"{row['name']}/status"} for row in rows]
    return {"kind": "APIResourceList", "resources": rows + subresources} if rows else None
