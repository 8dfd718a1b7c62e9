"""Requests to one API server with one identity, over the Kubernetes client's connections."""

from __future__ import annotations

import enum
import json
import ssl
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import load_kube_config

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
_loading = threading.Lock()


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
        """True for 2xx."""
        return 200 <= self.code < 300

    @property
    def status(self) -> Mapping[str, Any]:
        """The Status object of a failure; empty if the answer was something else."""
        body = self.body
        return body if isinstance(body, Mapping) and body.get("kind") == "Status" else {}

    @property
    def reason(self) -> str:
        """The machine-readable reason of a failure, such as `Invalid`."""
        return str(self.status.get("reason") or "")

    @property
    def message(self) -> str:
        """What the API server said about a failure, for people."""
        return str(self.status.get("message") or ("" if self.ok else str(self.body)[:300]))


def raise_for(answer: Answer, doing: str = "a request") -> Answer:
    """The answer itself if it is 2xx. Raises InfraError with the API server's words otherwise."""
    if not answer.ok:
        raise InfraError(f"{doing} was answered {answer.code}: {answer.message}")
    return answer


class Transport:
    """A thread-safe pool of kept-alive connections with the identity of a kubeconfig."""

    def __init__(
        self,
        configuration: Configuration,
        *,
        tls: ssl.SSLContext | None,
        agent: str,
        connections: int,
    ) -> None:
        self.server = str(configuration.host).rstrip("/")
        self.agent = agent
        self._configuration = configuration
        configuration.keep_alive = True
        configuration.connection_pool_maxsize = connections
        self.pool: urllib3.PoolManager = RESTClientObject(configuration).pool_manager
        if tls is not None:
            self.pool.connection_pool_kw["ssl_context"] = tls

    @classmethod
    def from_kubeconfig(
        cls, path: Path, *, context: str | None, agent: str, connections: int
    ) -> Transport:
        """Raises UsageError if the file is missing, unreadable or lacks the context."""
        if not path.is_file():
            raise UsageError(f"the kubeconfig {path} does not exist; expected a readable file")
        configuration = Configuration()
        # The client writes inline keys to temporary files and removes them only at a normal exit.
        # They are needed for one moment: read them into the TLS context, and leave nothing behind.
        with _loading, tempfile.TemporaryDirectory(prefix="dgd-conformance-") as directory:
            try:
                load_kube_config(  # type: ignore[no-untyped-call]  # the client's is untyped
                    config_file=str(path),
                    context=context,
                    client_configuration=configuration,
                    persist_config=False,
                    temp_file_path=directory,
                )
                tls = _tls_context(configuration)
            except (ConfigException, OSError, ValueError, KeyError, TypeError) as error:
                raise UsageError(f"the kubeconfig {path} cannot be used: {error}") from error
        configuration.cert_file = configuration.key_file = configuration.ssl_ca_cert = None
        return cls(configuration, tls=tls, agent=agent, connections=connections)

    def send(
        self,
        verb: str,
        path: str,
        *,
        body: Any = None,
        content_type: str = "application/json",
        params: Mapping[str, Any] | None = None,
        accept: str = "application/json",
        timeout: float = REQUEST_SECONDS,
    ) -> Answer:
        """One request and its answer, whatever its code. Raises InfraError if there was no answer.

        Sent again only where nothing can have happened: a throttled request (429), or a read over a
        kept-alive connection that the server had closed.
        """
        data = None if body is None else (body if isinstance(body, bytes) else json.dumps(body))
        limit = urllib3.Timeout(connect=min(CONNECT_SECONDS, timeout), read=timeout)
        headers = self.headers(accept, content_type if data is not None else None)
        url = self.url(path, params)
        for attempt in range(_THROTTLED_TRIES):
            try:
                response = self.pool.request(
                    verb, url, body=data, headers=headers, timeout=limit, retries=False
                )
            except urllib3.exceptions.ProtocolError as error:
                if verb == "GET" and attempt == 0:
                    continue
                raise InfraError(_no_answer(verb, path, self.server, error)) from error
            except urllib3.exceptions.HTTPError as error:
                raise InfraError(_no_answer(verb, path, self.server, error)) from error
            if response.status != 429 or attempt == _THROTTLED_TRIES - 1:
                break
            time.sleep(min(float(response.headers.get("Retry-After") or 1), 2.0))
        return Answer(
            code=response.status, body=_decoded(response.data), headers=dict(response.headers)
        )

    def stream(
        self, path: str, *, params: Mapping[str, Any], connect: float, read: float
    ) -> urllib3.BaseHTTPResponse:
        """An open response, to be read in pieces; `read` seconds without a byte end it."""
        try:
            return self.pool.request(
                "GET",
                self.url(path, params),
                headers=self.headers("application/json", None),
                timeout=urllib3.Timeout(connect=connect, read=read),
                retries=False,
                preload_content=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise InfraError(_no_answer("watch", path, self.server, error)) from error

    def url(self, path: str, params: Mapping[str, Any] | None) -> str:
        """The whole URL. Parameters that are None are left out, booleans lower-cased."""
        kept = {
            key: str(value).lower() if isinstance(value, bool) else value
            for key, value in (params or {}).items()
            if value is not None
        }
        joint = "&" if "?" in path else "?"
        return f"{self.server}{path}{joint + urlencode(kept) if kept else ''}"

    def headers(self, accept: str, content_type: str | None) -> dict[str, str]:
        """Headers with the identity; an expired token is fetched anew by the client's own hook."""
        headers = {"Accept": accept, "User-Agent": self.agent}
        if content_type is not None:
            headers["Content-Type"] = content_type
        for setting in self._configuration.auth_settings().values():
            headers[str(setting["key"])] = str(setting["value"])  # type: ignore[index]  # as typed
        return headers

    def close(self) -> None:
        """Drop the connections."""
        self.pool.clear()


def _tls_context(configuration: Configuration) -> ssl.SSLContext | None:
    """One context for all connections: reading the authority for each costs more than a request."""
    if not str(configuration.host).startswith("https"):
        return None
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    # Kubernetes' own certificates may lack what OpenSSL's strict mode (Python 3.13) asks for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data) if data else {}
    except ValueError:
        return data.decode("utf-8", "replace")


def _no_answer(verb: str, path: str, server: str, error: Exception) -> str:
    cause = error.__cause__ or error
    return f"the API server {server} gave no answer to {verb} {path}: {cause}"
