"""Requests to one API server with one identity, over the Kubernetes client's connections."""

import enum
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

import urllib3
from kubernetes.client.rest import RESTClientObject

from conformance.kube.connection import Connection
from conformance.kube.credentials import Credentials
from conformance.kube.proxy import Proxy
from conformance.model.errors import InfraError, UsageError

FIELD_MANAGER = "dgd-conformance"
"""One constant manager for all that the suite applies: removing a field by apply works only if the
same manager owned it."""
USER_AGENT = "dgd-conformance"
CONNECT_SECONDS = 5.0
"""Until the connection stands; a loopback or near API server needs milliseconds."""
REQUEST_SECONDS = 10.0
"""One request, as `Bounds.request`."""
_THROTTLED_TRIES = 4
_JSON = "application/json"


class PatchType(enum.StrEnum):
    """How a patch body is meant; the value is its content type."""

    MERGE = "application/merge-patch+json"
    JSON = "application/json-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    """Built-in kinds only: custom resources answer 415."""
    APPLY = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the API server said. `body` is the decoded JSON, or text where it was none."""

    code: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        return 200 <= self.code < 300

    @property
    def message(self) -> str:
        """What the API server said about a failure, for people: the message of its Status, or all."""
        body = self.body
        if isinstance(body, Mapping) and body.get("kind") == "Status" and body.get("message"):
            return str(body["message"])
        return "" if self.ok else str(body)[:300]


def raise_for(answer: Answer, doing: str = "a request") -> Answer:
    """The answer itself if it is 2xx. Raises InfraError with the API server's words otherwise."""
    if not answer.ok:
        raise InfraError(f"{doing} was answered {answer.code}: {answer.message}")
    return answer


class NoAnswerError(InfraError):
    """The API server did not answer at all; `proxy` is what should have led there, if any."""

    def __init__(self, message: str, *, proxy: Proxy | None = None) -> None:
        super().__init__(message)
        self.proxy = proxy


class Transport:
    """Kept-alive connections to one API server with the identity of a kubeconfig. Thread-safe."""

    def __init__(self, connection: Connection, *, agent: str, connections: int) -> None:
        configuration = connection.configuration
        self.server = str(configuration.host).rstrip("/")
        self._agent = agent
        self._connection = connection
        self._renewing = threading.Lock()
        configuration.keep_alive = True
        configuration.connection_pool_maxsize = connections
        try:
            self._pool: urllib3.PoolManager = RESTClientObject(configuration).pool_manager
        except ImportError:
            raise UsageError(
                f"{connection.proxy} needs the Python package PySocks; install it (pip install "
                "pysocks)"
            ) from None
        if connection.tls is not None:
            self._pool.connection_pool_kw["ssl_context"] = connection.tls

    @classmethod
    def from_kubeconfig(
        cls,
        path: Path | str,
        *,
        context: str | None = None,
        user_agent: str = USER_AGENT,
        connections: int = 16,
    ) -> Self:
        """`connections` are kept open for reuse; more are made as needed. Raises UsageError if the
        file is missing, unreadable or lacks the context, or its credentials cannot be had."""
        return cls(Connection.read(Path(path), context), agent=user_agent, connections=connections)

    def close(self) -> None:
        """Drop the connections."""
        self._pool.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def request(
        self,
        verb: str,
        path: str,
        body: Any = None,
        content_type: str = _JSON,
        params: Mapping[str, Any] | None = None,
        *,
        accept: str = _JSON,
        timeout: float = REQUEST_SECONDS,
    ) -> Answer:
        """The answer, whatever its code. Raises NoAnswerError if there is none within `timeout` s.

        Sent again only where nothing can have happened: a throttled request (429), or a read over a
        kept-alive connection that the server had closed.
        """
        data = None if body is None else json.dumps(body)
        headers = self._headers(accept, None if data is None else content_type)
        limit = urllib3.Timeout(connect=min(CONNECT_SECONDS, timeout), read=timeout)
        url = self._url(path, params)
        for attempt in range(_THROTTLED_TRIES):
            try:
                response = self._pool.request(
                    verb, url, body=data, headers=headers, timeout=limit, retries=False
                )
            except urllib3.exceptions.HTTPError as error:
                closed = isinstance(error, urllib3.exceptions.ProtocolError)
                if closed and verb == "GET" and attempt == 0:
                    continue
                raise self._no_answer(verb, path, error) from error
            if response.status != 429 or attempt == _THROTTLED_TRIES - 1:
                break
            time.sleep(min(float(response.headers.get("Retry-After") or 1), 2.0))
        return Answer(
            code=response.status, body=decoded(response.data), headers=dict(response.headers)
        )

    def stream(
        self, path: str, *, params: Mapping[str, Any], silence: float
    ) -> urllib3.BaseHTTPResponse:
        """An open response, to be read in pieces; `silence` seconds without a byte end it."""
        headers = self._headers(_JSON)
        limit = urllib3.Timeout(connect=CONNECT_SECONDS, read=silence)
        url = self._url(path, params)
        try:
            return self._pool.request(
                "GET", url, headers=headers, timeout=limit, retries=False, preload_content=False
            )
        except urllib3.exceptions.HTTPError as error:
            raise self._no_answer("watch", path, error) from error

    def _url(self, path: str, params: Mapping[str, Any] | None) -> str:
        words = {
            key: str(value).lower() if isinstance(value, bool) else value
            for key, value in (params or {}).items()
        }
        return f"{self.server}{path}?{urlencode(words)}" if words else f"{self.server}{path}"

    def _headers(self, accept: str, content_type: str | None = None) -> Mapping[str, str]:
        headers = urllib3.HTTPHeaderDict({"Accept": accept, "User-Agent": self._agent})
        if content_type is not None:
            headers["Content-Type"] = content_type
        if self._connection.credentials is not None:
            headers.update(self._identity(self._connection.credentials))
        else:
            for setting in self._connection.configuration.auth_settings().values():
                headers[str(setting["key"])] = str(setting["value"])  # type: ignore[index]  # as typed
        for name, value in self._connection.impersonation:
            headers.add(name, value)
        return headers

    def _identity(self, credentials: Credentials) -> Mapping[str, str]:
        try:
            credential = credentials.present
        except UsageError as error:
            raise InfraError(f"the identity cannot be renewed: {error}") from error
        with self._renewing:
            if credential.pair not in ("", self._connection.pair):
                context = self._connection.secure(credential)
                self._pool.connection_pool_kw["ssl_context"] = context
                # Connections that stand keep the old certificate; new ones must not.
                self._pool.clear()
        return {"authorization": f"Bearer {credential.token}"} if credential.token else {}

    def _no_answer(self, verb: str, path: str, error: Exception) -> NoAnswerError:
        cause, proxy = error.__cause__ or error, self._connection.proxy
        way = f" through {proxy}" if proxy is not None else ""
        return NoAnswerError(
            f"the API server {self.server} gave no answer to {verb} {path}{way}: {cause}",
            proxy=proxy,
        )


def decoded(data: bytes) -> Any:
    """A body: the value if it is JSON, else text."""
    try:
        return json.loads(data) if data else {}
    except ValueError:
        return data.decode("utf-8", "replace")
