"""Requests about graphs and components: where the objects are, what is sent, what was answered."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.kube import FIELD_MANAGER, Answer, Api, PatchType
from conformance.model.doors import Door, Method, request_for
from conformance.model.errors import InfraError
from conformance.model.graph import GRAPH_KIND, GROUP, PLURALS, ApiVersion, Graph
from conformance.model.transition import Transition

# A replace built on a read that the operator overtook is answered 409; clients read again.
_CONFLICT_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One request about the object of that kind and name, with its answer. Times are seconds since
    the epoch; `*_before` is what a read just before showed, 0 without one."""

    kind: str
    name: str
    request: Mapping[str, Any]
    answer: Answer
    sent_at: float
    answered_at: float
    generation_before: int = 0
    revision_before: int = 0

    @property
    def metadata(self) -> Mapping[str, Any]:
        """metadata of the stored object, empty on failure."""
        body = self.answer.body if self.answer.ok else {}
        return body.get("metadata") or {}

    @property
    def summary(self) -> dict[str, Any]:
        """What of the answer is worth keeping: the Status on failure, key metadata on success."""
        if not self.answer.ok:
            return {k: v for k, v in self.answer.body.items() if k not in ("kind", "apiVersion")}
        kept = ("name", "uid", "generation", "resourceVersion", "deletionTimestamp")
        return {key: self.metadata[key] for key in kept if key in self.metadata}


class GraphRequests:
    """Sends requests to one namespace in one API version, unless a door says otherwise. Answers of
    any code are returned, not raised; InfraError is raised if there is none."""

    def __init__(self, api: Api, namespace: str, version: ApiVersion) -> None:
        self._api = api
        self._namespace = namespace
        self._version = version

    def create(self, body: Mapping[str, Any], *, door: Door | None = None) -> Sent:
        """Create an object; through an apply door by apply, so that the suite owns its fields."""
        version = self._version if door is None else door.version
        name, kind = body["metadata"]["name"], body["kind"]
        if door is not None and door.method is Method.APPLY:
            return self._send("PATCH", kind, name, version, body=body, content_type=PatchType.APPLY)
        return self._send("POST", kind, name, version, body=body)

    def change(self, transition: Transition, *, before: Graph, door: Door) -> Sent:
        """Send a transition of a graph. Raises InfraError if the door cannot read the graph."""
        for _ in range(_CONFLICT_TRIES):
            read = self._read(GRAPH_KIND, before.name, door.version)
            if not read.ok:
                raise InfraError(
                    f"graph {self._namespace}/{before.name} could not be read as {door.version}: "
                    f"HTTP {read.code} {read.message}"
                )
            request = request_for(
                transition, before=before, live=read.body, door=door, namespace=self._namespace
            )
            sent = self._send(
                request.verb, GRAPH_KIND, before.name, door.version, body=request.body,
                content_type=request.content_type, live=read.body,
            )  # fmt: skip
            if sent.answer.code != 409:
                break
        return sent

    def merge(self, kind: str, name: str, patch: Mapping[str, Any], *, read: bool = True) -> Sent:
        """Send a merge patch; `read` the object first, to note what it was before."""
        live = self._read(kind, name) if read else None
        return self._send(
            "PATCH", kind, name, self._version, body=patch, content_type=PatchType.MERGE,
            live=live.body if live is not None and live.ok else {},
        )  # fmt: skip

    def delete(self, kind: str, name: str, *, propagation: str = "Background") -> Sent:
        """Delete an object, without waiting until it is gone."""
        params = {"propagationPolicy": propagation}
        return self._send("DELETE", kind, name, self._version, params=params)

    def gone(self, kind: str, name: str) -> bool:
        """True if the object does not exist."""
        return self._read(kind, name).code == 404

    def _read(self, kind: str, name: str, version: ApiVersion | None = None) -> Answer:
        return self._api.request("GET", self._path(kind, name, version or self._version))

    def _path(self, kind: str, name: str, version: ApiVersion) -> str:
        base = f"/apis/{GROUP}/{version}/namespaces/{self._namespace}/{PLURALS[kind]}"
        return f"{base}/{name}" if name else base

    def _send(
        self, verb: str, kind: str, name: str, version: ApiVersion, *, body: Any = None,
        content_type: str = "application/json", params: Mapping[str, str] | None = None,
        live: Mapping[str, Any] | None = None,
    ) -> Sent:  # fmt: skip
        """`params` are the field manager's unless given; `live` is the object as it was read."""
        path = self._path(kind, "" if verb == "POST" else name, version)
        if params is None:
            force = {"force": "true"} if content_type == PatchType.APPLY else {}
            params = {"fieldManager": FIELD_MANAGER, **force}
        metadata = (live or {}).get("metadata", {})
        sent_at = time.time()
        answer = self._api.request(verb, path, body, content_type, params)
        return Sent(
            kind=kind, name=name, answer=answer, sent_at=sent_at, answered_at=time.time(),
            request={"verb": verb, "path": path, "contentType": str(content_type), "body": body,
                     "params": params},
            generation_before=int(metadata.get("generation", 0)),
            revision_before=int(metadata.get("resourceVersion", 0)),
        )  # fmt: skip
