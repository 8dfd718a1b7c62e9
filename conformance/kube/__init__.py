"""The one adapter over the Kubernetes client: raw JSON, explicit timeouts, no hidden retry.

Everything else of the suite talks to an API server through `Api`.
"""

from __future__ import annotations

from conformance.kube.api import Api
from conformance.kube.manifests import apply_manifests, load_manifests
from conformance.kube.resource import Resource, served_by
from conformance.kube.transport import (
    FIELD_MANAGER,
    Answer,
    NoAnswerError,
    PatchType,
    raise_for,
)
from conformance.kube.watch import (
    ForbiddenError,
    NotServedError,
    WatchExpiredError,
    WatchSilentError,
    WatchTimeouts,
    refusal,
    watch_events,
)

__all__ = [
    "FIELD_MANAGER",
    "Answer",
    "Api",
    "ForbiddenError",
    "NoAnswerError",
    "NotServedError",
    "PatchType",
    "Resource",
    "WatchExpiredError",
    "WatchSilentError",
    "WatchTimeouts",
    "apply_manifests",
    "load_manifests",
    "raise_for",
    "refusal",
    "served_by",
    "watch_events",
]
