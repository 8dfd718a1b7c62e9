"""One watch request: lines as they come, until the server ends it or it must be given up.

The client's own Watch either replays from its first version or retries an expired one; here an
expired version and a silent stream are told to the caller, who alone knows what that means.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import urllib3

from conformance.kube.resource import Resource
from conformance.kube.transport import CONNECT_SECONDS, Transport
from conformance.model.errors import InfraError


class WatchExpiredError(InfraError):
    """The version to watch from is gone (410): list again, changes may have been missed."""


class WatchSilentError(InfraError):
    """Nothing came for longer than bookmarks should take: the stream may be dead; watch
    again from the last revision."""


class NotServedError(InfraError):
    """The kind is not served (404): its CRD is gone, or not yet up."""


class ForbiddenError(InfraError):
    """The identity may not list or watch the kind (403)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTimeouts:
    """Seconds. `server` is what the server is asked to end the watch after (spread, so that not all
    kinds reconnect at once)."""

    connect: float = CONNECT_SECONDS
    silence: float = 75.0
    """The API server sends a bookmark about every 60 s; a quarter more for a busy machine. TCP
    keep-alive notices a dead peer, only this notices a silent one."""
    server: float = 600.0


def watch(
    transport: Transport,
    resource: Resource,
    from_revision: int,
    *,
    namespace: str | None = None,
    timeouts: WatchTimeouts | None = None,
    on_open: Callable[[], None] | None = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(type, object) of each event after `from_revision`; BOOKMARK objects carry a revision only.
    `on_open` is called once the server has accepted the watch.

    Ends when the server ends the watch in an orderly way: watch on from the last revision, nothing
    is lost. Raises WatchExpiredError, WatchSilentError, NotServedError, ForbiddenError, or
    InfraError for any other failure, after which one may also watch on.
    """
    times = timeouts or WatchTimeouts()
    path = resource.path(namespace)
    response = transport.stream(
        path,
        params={
            "watch": "1",
            "resourceVersion": from_revision,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": max(1, round(times.server * random.uniform(0.9, 1.1))),
        },
        connect=times.connect,
        read=times.silence,
    )
    try:
        if response.status != 200:
            raise _refused(response.status, _message(response.data), resource)
        if on_open is not None:
            on_open()
        yield from _events(response, resource, from_revision)
    except urllib3.exceptions.ReadTimeoutError as error:
        raise WatchSilentError(
            f"the watch of {resource} was silent for {times.silence:g} s; "
            "expected at least a bookmark every 60 s"
        ) from error
    except urllib3.exceptions.HTTPError as error:
        raise InfraError(f"the watch of {resource} broke off: {error}") from error
    finally:
        # Not released to the pool: the stream is not at its end, the connection is of no more use.
        response.close()


def _events(
    response: urllib3.BaseHTTPResponse, resource: Resource, from_revision: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in _lines(response):
        event = json.loads(line)
        type_, obj = str(event["type"]), event["object"]
        if type_ == "ERROR":
            code = int(obj.get("code") or 0)
            raise _refused(code, str(obj.get("message") or obj), resource, from_revision)
        yield type_, obj


def _lines(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """Whole lines; a line cut off by the end of the stream is dropped, it will be sent again."""
    rest = b""
    for chunk in response.stream():
        if b"\n" not in chunk:
            rest += chunk
            continue
        *whole, tail = chunk.split(b"\n")
        whole[0] = rest + whole[0]
        rest = tail
        yield from (line for line in whole if line.strip())


def _message(data: bytes) -> str:
    """What a refusal says: the message of a Status, else all of it."""
    text = data.decode("utf-8", "replace")
    try:
        return str(json.loads(text)["message"])
    except (ValueError, TypeError, KeyError):
        return text


def _refused(code: int, text: str, resource: Resource, revision: int = 0) -> InfraError:
    if code == 410:
        version = revision or "its version"
        return WatchExpiredError(f"the watch of {resource} from {version} expired: {text}")
    if code == 404:
        return NotServedError(f"{resource} is not served: {text[:200]}")
    if code == 403:
        return ForbiddenError(f"{resource} may not be watched: {text[:300]}")
    return InfraError(f"the watch of {resource} was answered {code}: {text[:300]}")
