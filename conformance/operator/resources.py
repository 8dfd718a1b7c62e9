"""How the API server serves the kinds that an installation touches."""

from conformance.kube import Api, Resource
from conformance.model.errors import InfraError

CRDS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", False
)
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment", True)
EVENTS = Resource("", "v1", "events", "Event", True)
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease", True)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", False)
PODS = Resource("", "v1", "pods", "Pod", True)
VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration", False,
)  # fmt: skip


def served(
    api: Api, kind: str, group: str | None = None, version: str | None = None
) -> Resource | None:
    """How the API server serves a kind; None if it does not, or not any more."""
    try:
        return api.resource_for(kind, group, version)
    except InfraError:
        return None
