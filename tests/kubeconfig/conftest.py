"""One real control plane that plays the user's cluster, and kubeconfigs as users have them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.kubeconfig import KubeconfigOptions
from conformance.cluster.programs.prepare import ensure
from conformance.kube import Api
from conformance.kube.transport import Transport
from tests.kubeconfig.users import bind_role, kubeconfig_of


@pytest.fixture(scope="session")
def cluster() -> Iterator[EmbeddedCluster]:
    with EmbeddedCluster(programs=ensure()) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def admin(cluster: EmbeddedCluster) -> Iterator[Api]:
    """The cluster's owner; its writes carry another name than those of the suite under test."""
    cluster.bind_cluster_admin("owner")
    with Api.from_kubeconfig(cluster.kubeconfig_for("owner", "system:masters")) as api:
        yield api


@pytest.fixture(scope="session")
def powerful(cluster: EmbeddedCluster) -> dict[str, Any]:
    """A kubeconfig with the context `prod`, whose user may do everything."""
    cluster.bind_cluster_admin("someone")
    return kubeconfig_of(cluster.kubeconfig_for("someone"), context="prod")


@pytest.fixture(scope="session")
def restricted(cluster: EmbeddedCluster, admin: Api) -> dict[str, Any]:
    """As `powerful`, for one who may do what a run needs, and see nothing but some kinds."""
    bind_role(admin, "restricted")
    return kubeconfig_of(cluster.kubeconfig_for("restricted"), context="kind-restricted")


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """(method, path) of every request that this process sends from now on."""
    found: list[tuple[str, str]] = []
    real = Transport.request

    def request(self: Transport, verb: str, path: str, *given: Any, **more: Any) -> Any:
        found.append((verb, path))
        return real(self, verb, path, *given, **more)

    monkeypatch.setattr(Transport, "request", request)
    return found


@pytest.fixture
def options(tmp_path: Path) -> Any:
    """Makes options for a kubeconfig given as data."""

    def make(content: dict[str, Any], **more: Any) -> KubeconfigOptions:
        path = tmp_path / "user.kubeconfig"
        path.write_text(json.dumps(content))
        given = {"context": content["contexts"][0]["name"], **more}
        return KubeconfigOptions(kubeconfig=path, **given)

    return make
