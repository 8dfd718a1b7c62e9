"""`Api`: what the suite can ask of an API server."""

import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from conformance.kube.connection import Connection
from conformance.kube.resource import Resource, discover, preferred, served_by
from conformance.kube.transport import FIELD_MANAGER, Answer, PatchType, Transport, raise_for
from conformance.model.errors import InfraError

_METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_REDISCOVER_SECONDS = 0.5
_MANAGED = {"fieldManager": FIELD_MANAGER}

Raw: TypeAlias = dict[str, Any]
Body: TypeAlias = Mapping[str, Any]
# Spelt here because `Api.list` hides the builtin inside the class.
Items: TypeAlias = list[Raw]
Resources: TypeAlias = list[Resource]


class Api(Transport):
    """A client of one API server with one identity. Thread-safe. Reads raise InfraError; writes do not
    on 4xx, since a refusal is often what is looked for."""

    def __init__(self, connection: Connection, *, agent: str, connections: int) -> None:
        super().__init__(connection, agent=agent, connections=connections)
        self._lock = threading.Lock()
        self._served: Resources = []
        self._discovered_at = 0.0

    def get(self, path: str) -> Raw:
        """The object at a path. Raises InfraError if it is not there."""
        body = raise_for(self.request("GET", path), f"GET {path}").body
        if not isinstance(body, dict):
            raise InfraError(f"GET {path} answered {body!r:.80}, expected a JSON object")
        return body

    def read(self, resource: Resource, name: str, namespace: str | None = None) -> Raw | None:
        """One object, None if it does not exist."""
        path = resource.path(namespace, name)
        answer = self.request("GET", path)
        if answer.code == 404:
            return None
        body: Raw = raise_for(answer, f"GET {path}").body
        return body

    def list(
        self, path: str, params: Body | None = None, *, accept: str = "application/json"
    ) -> tuple[Items, int]:
        """The items of a collection and the revision they stood at. Items of a typed list come
        without kind and apiVersion; they are given those of the list."""
        answer = raise_for(self.request("GET", path, params=params, accept=accept), f"list {path}")
        body = answer.body
        kind = str(body.get("kind", "")).removesuffix("List")
        head = {"kind": kind, "apiVersion": body.get("apiVersion")}
        items: Items = [head | item for item in body.get("items") or ()]
        return items, int((body.get("metadata") or {}).get("resourceVersion") or 0)

    def metadata_list(self, resource: Resource, namespace: str | None = None) -> tuple[Items, int]:
        """Metadata of all objects of a kind, and the revision of the list: cheap and exact."""
        items, revision = self.list(resource.path(namespace), accept=_METADATA)
        head = {"kind": resource.kind, "apiVersion": resource.api_version}
        return [item | head for item in items], revision

    def table(self, resource: Resource, namespace: str | None = None) -> str:
        """What `kubectl get` prints: the API server's own columns. Empty if there is no object."""
        path = resource.path(namespace)
        answer = self.request("GET", path, params={"includeObject": "None"}, accept=_TABLE)
        return render_table(raise_for(answer, f"the table of {path}").body)

    def create(self, resource: Resource, body: Body, namespace: str | None = None) -> Answer:
        """Create an object, in the namespace of its metadata unless another is given."""
        path = resource.path(namespace or body["metadata"].get("namespace"))
        return self.request("POST", path, body, params=_MANAGED)

    def replace(self, resource: Resource, body: Body, namespace: str | None = None) -> Answer:
        """Replace an object by a whole new one (PUT); its resourceVersion, if given, must fit."""
        metadata = body["metadata"]
        path = resource.path(namespace or metadata.get("namespace"), str(metadata["name"]))
        return self.request("PUT", path, body, params=_MANAGED)

    def patch(
        self, resource: Resource, name: str, body: Body, namespace: str | None = None
    ) -> Answer:
        """Merge-patch an object."""
        path = resource.path(namespace, name)
        return self.request("PATCH", path, body, PatchType.MERGE, _MANAGED)

    def delete(
        self,
        resource: Resource,
        name: str,
        namespace: str | None = None,
        *,
        propagation: str = "Background",
        uid: str | None = None,
    ) -> Answer:
        """Delete an object, only the one of that uid if given."""
        body: Raw = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
        if uid is not None:
            body["preconditions"] = {"uid": uid}
        return self.request("DELETE", resource.path(namespace, name), body)

    def discover(self) -> Resources:
        """Asks anew for every listable and watchable kind, in its preferred version."""
        return preferred(self._discovered(within=0))

    def resource_for(
        self, kind: str, group: str | None = None, version: str | None = None
    ) -> Resource:
        """How a kind is served: in the preferred version unless one is named; the first group that
        has it (the core group first) unless one is named. Raises InfraError if it is not served."""
        for found in self._listable(version):
            wanted = found.kind == kind and group in (None, found.group)
            if wanted and version in (None, found.version):
                return found
        of = f" of group {group!r}" if group is not None else ""
        at = f" in version {version}" if version else ""
        raise InfraError(f"{kind}{of} is not served{at} by {self.server}; is its CRD installed?")

    def _listable(self, version: str | None) -> Iterator[Resource]:
        """As last discovered, then as discovered now, then as CRDs say."""
        for within in (float("inf"), _REDISCOVER_SECONDS):
            yield from (found for found in self._discovered(within=within) if "list" in found.verbs)
        # Discovery may lag behind a CRD that already serves its kind by seconds.
        answer = self.request("GET", _CRDS)
        # An identity that may not list them must do with discovery alone.
        if answer.code != 403:
            crds = raise_for(answer, f"list {_CRDS}").body.get("items") or ()
            yield from filter(None, (served_by(crd, version) for crd in crds))

    def _discovered(self, *, within: float) -> Resources:
        """As of at most that many seconds ago."""
        with self._lock:
            if not self._served or time.monotonic() - self._discovered_at > within:
                self._served = discover(self)
                self._discovered_at = time.monotonic()
            return self._served


def render_table(table: Body) -> str:
    """Aligned columns without the wide ones (priority above 0); NAME first, as the server sends it.
    Empty if there is no row. A list that the server did not print as a table gives its names."""
    if table.get("kind") != "Table":
        names = [str(item["metadata"]["name"]) for item in table.get("items") or ()]
        return "\n".join(["NAME", *names]) if names else ""
    columns = table.get("columnDefinitions") or ()
    kept = [index for index, column in enumerate(columns) if not column.get("priority")]
    kept.sort(key=lambda index: columns[index].get("name") != "Name")
    rows = [[_cell(row["cells"][index]) for index in kept] for row in table.get("rows") or ()]
    if not rows:
        return ""
    rows.insert(0, [str(columns[index]["name"]).upper() for index in kept])
    widths = [max(len(row[place]) for row in rows) for place in range(len(kept))]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _cell(value: Any) -> str:
    if value is None:
        return "<none>"
    return str(value).lower() if isinstance(value, bool) else str(value)
