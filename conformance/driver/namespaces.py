"""Namespaces of the suite: made, labelled and ready for pods."""

import re
import uuid

from conformance.driver.waiting import until
from conformance.kube import Api, raise_for
from conformance.model import labels
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError

_LONGEST = 30


def namespace_name(stem: str) -> str:
    """A new name that starts like `stem`."""
    short = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:_LONGEST].strip("-")
    # Operators put the namespace into label values (63) together with the graph's name.
    return f"{short}-{uuid.uuid4().hex[:5]}"


def open_namespace(api: Api, name: str, *, bounds: Bounds, run: str = "") -> None:
    """Create a namespace, labelled with the id of the run that will remove it, and wait until its
    default ServiceAccount is there: pods are refused before. Raises InfraError if it never is."""
    metadata = {"name": name, "labels": labels.of_run(run)}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    raise_for(api.request("POST", "/api/v1/namespaces", body=body), f"creating namespace {name}")
    account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    # Many namespaces are opened at once, and it takes some tenths of a second.
    within = bounds.patience * bounds.request
    if not until(lambda: api.request("GET", account).ok, every=0.1, within=within):
        raise InfraError(
            f"namespace {name} got no default ServiceAccount within {within:.0f} s; "
            "kube-controller-manager may be down"
        )


def close_namespace(api: Api, name: str) -> None:
    """Delete a namespace with all that is in it, without waiting."""
    api.request("DELETE", f"/api/v1/namespaces/{name}")
