"""The HTTPS server that the API server calls: admission of graphs and components, conversion."""

from __future__ import annotations

import json
import logging
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import socket
from typing import Any, TypeAlias

from .conversion import ALPHA, BETA, ConversionError, convert
from .faults import Fault, Faults, Policy
from .objects import (
    COMPONENT,
    DEPLOYMENT,
    GRAPH,
    Kind,
    Object,
    component_name,
    is_terminating,
    meta,
)
from .validation import (
    Problem,
    component_problems,
    graph_problems,
    graph_topology_changes,
    topology_changes,
)

log = logging.getLogger(__name__)

CONVERT_PATH = "/convert"
VALIDATE_PATHS = tuple(f"/validate/{kind.api_version}/{kind.plural}" for kind in (GRAPH, COMPONENT))

_ACTS_ON_REFUSED = (Fault.REFUSAL_AFTER_MOVE, Fault.REFUSED_CHANGE_DONE_LATER)

Refused: TypeAlias = Callable[[Object], None]
"""Called with each graph whose topology change was refused."""


class Admission:
    """Decides on admission reviews of v1beta1 objects, whatever version was asked for."""

    def __init__(
        self, policy: Policy, faults: Faults, refused: Refused, *, single_node: Kind = DEPLOYMENT
    ) -> None:
        self._single_node = single_node
        self._policy = policy
        self._faults = faults
        self._refused = refused

    def review(self, request: Object) -> Object:
        """The AdmissionResponse to an AdmissionRequest."""
        messages = self._messages(request)
        response: Object = {"uid": request["uid"], "allowed": not messages}
        if messages:
            response["status"] = {
                "code": 422,
                "reason": "Invalid",
                "message": "; ".join(messages),
            }
            name = f"{request.get('namespace')}/{request.get('name')}"
            log.info("refused %s of %s: %s", request.get("operation"), name, "; ".join(messages))
        return response

    def _messages(self, request: Object) -> list[str]:
        new: Object = request.get("object") or {}
        old: Object = request.get("oldObject") or {}
        # A write that leaves the spec alone changes finalizers or annotations. Rules that are newer
        # than the object must not keep it from being cleaned up.
        if is_terminating(new) or (old and old.get("spec") == new.get("spec")):
            return []
        new = {**new, "metadata": {**meta(new), "namespace": request.get("namespace", "")}}
        is_graph = new.get("kind") == GRAPH.kind
        check = graph_problems if is_graph else component_problems
        problems = check(new, self._single_node)
        if old:
            old = {**old, "metadata": meta(new)}
            known = {
                (problem.component, problem.message) for problem in check(old, self._single_node)
            }
            problems = [p for p in problems if (p.component, p.message) not in known]
        version = (request.get("requestKind") or {}).get("version", BETA)
        if old and self._policy is Policy.REFUSE:
            problems += self._topology(old, new, version, is_graph=is_graph)
        return [problem.render(version, inline=not is_graph) for problem in problems]

    def _topology(self, old: Object, new: Object, version: str, *, is_graph: bool) -> list[Problem]:
        faults = self._faults
        if faults.on(Fault.REFUSAL_ONE_VERSION) and version != ALPHA:
            return []
        if is_graph:
            changes = graph_topology_changes(old, new)
            if changes and any(faults.on(fault) for fault in _ACTS_ON_REFUSED):
                self._refused(new)
            return changes
        if any(faults.on(fault) for fault in (Fault.DCD_DOOR_LEFTOVER, *_ACTS_ON_REFUSED)):
            return []
        name = component_name(new.get("spec") or {}) or meta(new).get("name", "")
        return topology_changes(old.get("spec") or {}, new.get("spec") or {}, name)


def review_conversion(request: Object) -> Object:
    """The ConversionResponse to a ConversionRequest."""
    version = str(request.get("desiredAPIVersion", "")).partition("/")[2]
    try:
        objects = [convert(obj, version) for obj in request.get("objects") or []]
    except ConversionError as error:
        result = {"status": "Failure", "message": str(error)}
        return {"uid": request["uid"], "result": result, "convertedObjects": []}
    return {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects}


class _Handler(BaseHTTPRequestHandler):
    # The API server keeps its connections; without 1.1 each review would cost a TLS handshake.
    protocol_version = "HTTP/1.1"
    timeout = 120
    server: WebhookServer

    def setup(self) -> None:
        # Here and not in the accept loop, where one slow handshake would hold up all others.
        if isinstance(self.request, ssl.SSLSocket):
            self.request.settimeout(10)
            self.request.do_handshake()
        super().setup()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            review = json.loads(body)
            answer = self.server.answer(self.path.partition("?")[0], review)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            log.exception("review at %s failed", self.path)
            self._send(400, {"message": f"cannot review this: {error}"})
            return
        self._send(*answer)

    def _send(self, code: int, body: Object) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Reviews are frequent and uninteresting; refusals are logged where they are made."""


class WebhookServer(ThreadingHTTPServer):
    """Serves all webhooks on one port."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self, port: int, certificates: Path, admission: Admission, *, host: str = "127.0.0.1"
    ) -> None:
        """``certificates`` holds tls.crt and tls.key; OSError if they cannot be loaded."""
        self._admission = admission
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(certificates / "tls.crt", certificates / "tls.key")
        super().__init__((host, port), _Handler)

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, name="webhooks", daemon=True).start()

    def get_request(self) -> tuple[socket, Any]:
        plain, address = super().get_request()
        secure = self._tls.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
        return secure, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away, or does not speak TLS, is no error of this operator."""
        log.debug("connection %s from %s ended", request, client_address, exc_info=True)

    def answer(self, path: str, review: Object) -> tuple[int, Object]:
        """Status code and body for a review that was posted to a path."""
        request = review["request"]
        if path == CONVERT_PATH:
            response = review_conversion(request)
        elif path in VALIDATE_PATHS:
            response = self._admission.review(request)
        else:
            return 404, {"message": f"nothing is served at {path}"}
        head = {"apiVersion": review["apiVersion"], "kind": review["kind"]}
        return 200, {**head, "response": response}
