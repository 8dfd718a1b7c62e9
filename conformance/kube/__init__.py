"""The one adapter over the Kubernetes client: raw JSON, explicit timeouts, no hidden retry."""

from conformance.kube.api import Api
from conformance.kube.manifests import apply_manifests, load_manifests
from conformance.kube.resource import Resource, served_by
from conformance.kube.transport import FIELD_MANAGER, Answer, NoAnswerError, PatchType, raise_for

__all__ = [
    "FIELD_MANAGER",
    "Answer",
    "Api",
    "NoAnswerError",
    "PatchType",
    "Resource",
    "apply_manifests",
    "load_manifests",
    "raise_for",
    "served_by",
]
