"""One watch request, until the server ends it or it must be given up. The client's own Watch hides an
expired version and a silent stream; only who watches knows what they mean."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import urllib3

from conformance.kube.resource import Resource
from conformance.kube.transport import Answer, Transport, decoded
from conformance.model.errors import InfraError

SILENCE_SECONDS = 75.0
"""The API server sends a bookmark about every 60 s; a quarter more for a busy machine. TCP keep-alive
notices a dead peer, only this notices a silent one."""
LIFE_SECONDS = 600.0
"""What the server is asked to end a watch after (spread, so that not all kinds reconnect at once)."""


class WatchExpiredError(InfraError):
    """The version to watch from is gone (410): list again, changes may have been missed."""


class WatchSilentError(InfraError):
    """Nothing came for longer than bookmarks should take: watch again from the last revision."""


class NotServedError(InfraError):
    """The kind is not served (404): its CRD is gone, or not yet up."""


class ForbiddenError(InfraError):
    """The identity may not list or watch the kind (403)."""


def watch_events(
    transport: Transport,
    resource: Resource,
    from_revision: int,
    *,
    silence: float = SILENCE_SECONDS,
    life: float = LIFE_SECONDS,
    on_open: Callable[[], None] = lambda: None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(type, object) of each event after `from_revision`; BOOKMARK objects carry a revision only.
    `on_open` is called once the server has accepted the watch.

    Ends when the server ends the watch in an orderly way: watch on from the last revision, nothing
    is lost. Raises an error of this module, or InfraError, after which one may also watch on.
    """
    params = {
        "watch": "1",
        "resourceVersion": from_revision,
        "allowWatchBookmarks": "true",
        "timeoutSeconds": max(1, round(life * random.uniform(0.9, 1.1))),
    }
    response = transport.stream(resource.path(), params=params, silence=silence)
    try:
        if response.status != 200:
            answer = Answer(code=response.status, body=decoded(response.data))
            raise refusal(resource, answer, watched_from=from_revision)
        on_open()
        for line in response:
            if not line.endswith(b"\n"):
                break  # Cut off by the end of the stream: it will be sent again.
            if not line.strip():
                continue
            event = json.loads(line)
            type_, obj = str(event["type"]), event["object"]
            if type_ == "ERROR":
                answer = Answer(code=int(obj.get("code") or 0), body=obj)
                raise refusal(resource, answer, watched_from=from_revision)
            yield type_, obj
    except urllib3.exceptions.ReadTimeoutError as error:
        raise WatchSilentError(
            f"the watch of {resource} was silent for {silence:g} s; "
            "expected at least a bookmark every 60 s"
        ) from error
    except urllib3.exceptions.HTTPError as error:
        raise InfraError(f"the watch of {resource} broke off: {error}") from error
    finally:
        # Not released to the pool: the stream is not at its end, the connection is of no more use.
        response.close()


def refusal(resource: Resource, answer: Answer, *, watched_from: int | None = None) -> InfraError:
    """Why a kind could not be listed, or watched, as the error that tells what to do about it."""
    doing = "listed" if watched_from is None else "watched"
    if answer.code == 410 and watched_from is not None:
        return WatchExpiredError(
            f"the watch of {resource} from {watched_from} expired: {answer.message}"
        )
    if answer.code == 404:
        return NotServedError(f"{resource} is not served: {answer.message}")
    if answer.code == 403:
        return ForbiddenError(f"{resource} may not be {doing}: {answer.message}")
    return InfraError(f"{resource} cannot be {doing}: {answer.code} {answer.message}")
