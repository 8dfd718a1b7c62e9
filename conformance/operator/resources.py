"""How the API server serves the kinds that an installation touches."""

from __future__ import annotations

from conformance.kube import Resource
from conformance.operator.webhooks import CRD_KIND

CRDS = Resource("apiextensions.k8s.io", "v1", "customresourcedefinitions", CRD_KIND, False)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", True)
EVENTS = Resource("", "v1", "events", "Event", True)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", True)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", False)
PODS = Resource("", "v1", "pods", "Pod", True)
VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration", False,
)  # fmt: skip
