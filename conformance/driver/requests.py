"""Requests to the graph API: where objects are, and how a transition is sent and answered."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from conformance.kube import FIELD_MANAGER, Answer, Api
from conformance.model.doors import Door, Method, request_for
from conformance.model.errors import InfraError
from conformance.model.graph import GRAPH_KIND, GROUP, PLURALS, ApiVersion, Graph
from conformance.model.transition import Transition

# A replace built on a read that the operator overtook is answered 409; clients read again.
_CONFLICT_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """One request with its answer. Times are seconds since the epoch."""

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


def path_of(kind: str, version: ApiVersion, namespace: str, name: str = "") -> str:
    """URL path of graphs or components in a namespace, or of one of them."""
    base = f"/apis/{GROUP}/{version}/namespaces/{namespace}/{PLURALS[kind]}"
    return f"{base}/{name}" if name else base


def send(
    api: Api,
    verb: str,
    path: str,
    *,
    body: Any = None,
    content_type: str = "application/json",
    params: Mapping[str, str] | None = None,
    generation_before: int = 0,
    revision_before: int = 0,
) -> Sent:
    """Send one request and note both times. Answers of any code are returned, not raised."""
    sent_at = time.time()
    answer = api.request(
        verb, path, body=body, content_type=content_type, params=dict(params or {})
    )
    return Sent(
        request={"verb": verb, "path": path, "contentType": content_type, "body": body,
                 **({"params": dict(params)} if params else {})},
        answer=answer,
        sent_at=sent_at,
        answered_at=time.time(),
        generation_before=generation_before,
        revision_before=revision_before,
    )  # fmt: skip


def send_transition(
    api: Api, transition: Transition, *, before: Graph, door: Door, namespace: str
) -> Sent:
    """Send a transition of a graph through a door.

    Raises InfraError if the graph cannot be read in the door's version.
    """
    path = path_of(GRAPH_KIND, door.version, namespace, before.name)
    for attempt in range(_CONFLICT_TRIES):
        read = api.request("GET", path)
        if not read.ok:
            raise InfraError(
                f"graph {namespace}/{before.name} could not be read as {door.version}: "
                f"HTTP {read.code} {read.message}"
            )
        request = request_for(
            transition, before=before, live=read.body, door=door, namespace=namespace
        )
        params: dict[str, str] = {"fieldManager": FIELD_MANAGER}
        if door.method is Method.APPLY:
            params["force"] = "true"
        metadata = read.body["metadata"]
        sent = send(
            api, request.verb, path, body=request.body, content_type=request.content_type,
            params=params,
            generation_before=int(metadata.get("generation", 0)),
            revision_before=int(metadata.get("resourceVersion", 0)),
        )  # fmt: skip
        if sent.answer.code != 409 or attempt == _CONFLICT_TRIES - 1:
            break
    return sent
