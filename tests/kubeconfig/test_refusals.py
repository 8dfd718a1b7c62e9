"""What the suite refuses, and says, before it writes anything to a cluster that is not its own."""

import base64
import datetime
import runpy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from conformance import paths
from conformance.cluster.certificates import Authority
from conformance.cluster.embedded import EmbeddedCluster
from conformance.cluster.kubeconfig import KubeconfigCluster, connectivity, contexts, rights
from conformance.kube import Api, Resource, raise_for
from conformance.kube.credentials import Plugin
from conformance.model.children import Gang
from conformance.model.errors import UsageError
from conformance.model.labels import DISPOSABLE
from conformance.model.profile import Profile
from conformance.operator import profiles
from tests.kube.fake_api import POD, FakeApi
from tests.kubeconfig.users import (
    ConnectProxy,
    bind_role,
    closed_port,
    kubeconfig_of,
    silent_server,
    with_cluster,
    with_user,
    writes,
)
from tests.objects import a_profile

pytestmark = pytest.mark.xdist_group("cluster")

NAMESPACE = Resource("", "v1", "namespaces", "Namespace", False)
SECONDS = 12.0
"""Each refusal is there in five seconds on an idle machine."""
Raw = dict[str, Any]


def refusal(options: Any) -> str:
    """The sentence with which a run is refused, in seconds and with nothing left behind."""
    cluster = KubeconfigCluster(options)
    began = time.monotonic()
    with pytest.raises(UsageError) as caught:
        cluster.start()
    assert time.monotonic() - began < SECONDS
    cluster.stop()
    return str(caught.value)


@pytest.fixture
def marked(admin: Api) -> Iterator[None]:
    """The cluster's owner lets the suite use it."""
    mark = {"metadata": {"labels": {DISPOSABLE: "true"}}}
    raise_for(admin.patch(NAMESPACE, "default", mark))
    yield
    raise_for(admin.patch(NAMESPACE, "default", {"metadata": {"labels": {DISPOSABLE: None}}}))


# Ownership -----------------------------------------------------------------------------------------


def test_a_cluster_that_nobody_calls_disposable_is_refused_and_gets_no_write(
    cluster: EmbeddedCluster, options: Any, sent: list[tuple[str, str]]
) -> None:
    cluster.bind_cluster_admin("refused")
    user = kubeconfig_of(cluster.kubeconfig_for("refused"), context="prod")
    sent.clear()
    said = refusal(options(user))
    assert sent
    assert {verb for verb, _ in sent} == {"GET"}
    assert "context prod" in said
    assert "--i-own-this-cluster" in said
    assert f"label namespace default {DISPOSABLE}=true" in said
    # Another user's write shows that the log has caught up.
    with Api.from_kubeconfig(cluster.kubeconfig) as api:
        name = "after-the-refusal"
        raise_for(api.create(NAMESPACE, {"metadata": {"name": name}}))
    end = time.monotonic() + 10
    while name not in cluster.audit_log.read_text():
        assert time.monotonic() < end
        time.sleep(0.05)
    assert writes(cluster.audit_log, "refused") == []


def test_no_context_or_an_unknown_one_is_refused_with_those_that_there_are(
    powerful: Raw, options: Any
) -> None:
    assert "there: prod" in refusal(options(powerful, context="produ"))
    assert "names no context" in refusal(options(powerful, context=None))


@pytest.mark.parametrize("name", ["kind-x", "k3d-x", "minikube"])
def test_a_throw_away_cluster_is_known_by_its_name(powerful: Raw, options: Any, name: str) -> None:
    powerful = {**powerful, "contexts": [{**powerful["contexts"][0], "name": name}]}
    cluster = KubeconfigCluster(options(powerful))
    cluster.check()
    assert f"context {name} is a throw-away cluster by its name" in cluster.plan()[0]
    cluster.stop()


@pytest.mark.parametrize("name", ["kind", "kind-", "my-kind-x", "minikube-prod", "prod"])
def test_a_name_that_only_resembles_one_is_not_enough(
    powerful: Raw, options: Any, name: str
) -> None:
    powerful = {**powerful, "contexts": [{**powerful["contexts"][0], "name": name}]}
    assert "does not look like a cluster to experiment on" in refusal(options(powerful))


@pytest.mark.usefixtures("marked")
def test_a_label_on_a_namespace_lets_the_suite_in(powerful: Raw, options: Any) -> None:
    cluster = KubeconfigCluster(options(powerful))
    assert f"default is labelled {DISPOSABLE}=true" in cluster.plan()[0]
    cluster.stop()


def test_a_user_who_may_not_read_the_label_is_refused(
    cluster: EmbeddedCluster, options: Any
) -> None:
    nobody = kubeconfig_of(cluster.kubeconfig_for("nobody"), context="prod")
    assert "does not look like a cluster" in refusal(options(nobody))


# Rights --------------------------------------------------------------------------------------------


def test_all_missing_rights_are_told_in_one_table(cluster: EmbeddedCluster, options: Any) -> None:
    nobody = kubeconfig_of(cluster.kubeconfig_for("nobody"), context="kind-x")
    said = refusal(options(nobody))
    assert said.startswith("user nobody of context kind-x lacks rights")
    rows = {line.split()[0]: line.split()[1] for line in said.splitlines()[2:-1]}
    assert rows["namespaces"] == "get,list,watch,create,delete"
    assert rows["dynamographdeployments.nvidia.com"] == "get,list,watch,create,update,patch,delete"
    assert {"leases.coordination.k8s.io", "serviceaccounts", "deployments.apps"} <= rows.keys()
    assert rows["customresourcedefinitions.apiextensions.k8s.io"] == "get"
    assert "clusterroles.rbac.authorization.k8s.io" not in rows


def test_what_cases_create_beside_graphs_is_asked_for_as_the_profile_needs_it() -> None:
    cases = runpy.run_path(str(paths.cases() / "test_foreign.py"))
    created = {(body[0].rpartition("/")[0], kind) for kind, body in cases["SPECS"].items()}

    def asked(profile: Profile | None) -> set[tuple[str, str]]:
        wanted = rights.needed(profile, install_operator=False)
        names = {row.name for row in wanted if "create" in row.verbs}
        plurals = {(group, kind): f"{kind.lower()}s.{group}".strip(".") for group, kind in created}
        return {row for row, plural in plurals.items() if plural in names}

    assert asked(None) == asked(profiles.load("reference").profile) == created
    assert {kind for _, kind in asked(a_profile(gang=Gang.NONE))} == {
        "Deployment",
        "Service",
        "LeaderWorkerSet",
    }


def test_who_may_not_stop_the_operator_is_told_once_and_may_run(
    restricted: Raw, options: Any, cluster: EmbeddedCluster, admin: Api
) -> None:
    reference = profiles.load("reference").profile
    assert reference.in_cluster is not None
    own = KubeconfigCluster(options(restricted), profile=reference)
    (line,) = [line for line in own.plan() if line.startswith("lacks:")]
    own.stop()
    assert "patch deployments.apps, delete pods" in line
    assert f"namespace {reference.in_cluster.namespace}" in line
    assert "cases that stop the operator will be `unknown`" in line
    more = [(("apps",), ("deployments",), ("patch",)), (("",), ("pods",), ("delete",))]
    bind_role(admin, "restarter", more=more)
    may = kubeconfig_of(cluster.kubeconfig_for("restarter"), context="kind-x")
    for profile in (reference, a_profile(), None):
        own = KubeconfigCluster(options(may), profile=profile)
        assert not [line for line in own.plan() if line.startswith("lacks:")]
        own.stop()


def test_installing_an_operator_needs_more_rights(
    restricted: Raw, options: Any, admin: Api
) -> None:
    cluster = KubeconfigCluster(options(restricted))
    cluster.check()
    cluster.stop()
    said = refusal(options(restricted, install_operator=True))
    assert "customresourcedefinitions.apiextensions.k8s.io" in said
    assert "bind,escalate" in said
    assert "dynamographdeployments" not in said


def test_a_right_that_is_missing_only_in_part_is_told_with_its_verbs(
    cluster: EmbeddedCluster, options: Any, admin: Api
) -> None:
    bind_role(admin, "partly")
    role = Resource("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", False)
    stored = admin.read(role, "partly")
    assert stored is not None
    rules = [r for r in stored["rules"] if r["resources"] != ["leases"]]
    read_only = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}
    raise_for(admin.patch(role, "partly", {"rules": [*rules, read_only]}))
    partly = kubeconfig_of(cluster.kubeconfig_for("partly"), context="kind-x")
    said = refusal(options(partly))
    assert "leases.coordination.k8s.io  create,update" in said
    assert len(said.splitlines()) == 4


# Identity ------------------------------------------------------------------------------------------


def test_an_expired_client_certificate_is_told_with_its_end(powerful: Raw, options: Any) -> None:
    pair = Authority().client("late")
    # The authority gives no choice of time: the clock is moved instead.
    user = {
        "client-certificate-data": base64.b64encode(pair.certificate).decode(),
        "client-key-data": base64.b64encode(pair.key).decode(),
    }
    given = options(with_user(powerful, user), i_own=True)
    context = contexts.read([given.kubeconfig], "prod")
    connectivity.check_identity(context)
    now = datetime.datetime.now(datetime.UTC)
    with pytest.raises(UsageError, match=r"of user \S+ \(context prod\) expired on 20\d\d-"):
        connectivity.check_identity(context, now=now + datetime.timedelta(days=3))
    with pytest.raises(UsageError, match=r"valid only from 20\d\d-"):
        connectivity.check_identity(context, now=now - datetime.timedelta(days=3))
    # And one of another authority is not known to the API server.
    assert "is not signed by an authority of that cluster" in refusal(given)


def test_an_unknown_and_an_expired_token_are_told_apart(powerful: Raw, options: Any) -> None:
    said = refusal(options(with_user(powerful, {"token": "nonsense"}), i_own=True))
    assert "does not know user" in said
    assert "its token is unknown or has expired" in said
    claims = base64.urlsafe_b64encode(b'{"exp": 1700000000}').decode().rstrip("=")
    said = refusal(options(with_user(powerful, {"token": f"e30.{claims}.x"}), i_own=True))
    assert "its token expired on 2023-11-14 22:13 UTC" in said


def test_a_kubeconfig_without_credentials_is_told(powerful: Raw, options: Any) -> None:
    said = refusal(options(with_user(powerful, {}), i_own=True))
    assert said.startswith("context prod has no user with credentials")


def plugin(folder: Path, body: str) -> Raw:
    path = folder / "plugin"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    version = "client.authentication.k8s.io/v1"
    return {"exec": {"command": "./plugin", "apiVersion": version, "interactiveMode": "Never"}}


def test_credentials_of_a_plugin_work(
    cluster: EmbeddedCluster, admin: Api, powerful: Raw, options: Any, tmp_path: Path
) -> None:
    account = {"metadata": {"name": "robot", "namespace": "default"}}
    accounts = Resource("", "v1", "serviceaccounts", "ServiceAccount", True)
    raise_for(admin.create(accounts, account))
    cluster.bind_cluster_admin("system:serviceaccount:default:robot")
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = raise_for(admin.request("POST", path, body)).body["status"]["token"]
    answer = (
        '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",'
        f'"status":{{"token":"{token}"}}}}'
    )
    user = plugin(tmp_path, f"echo '{answer}'")
    cluster = KubeconfigCluster(options(with_user(powerful, user), i_own=True))
    cluster.check()
    with Api.from_kubeconfig(cluster.kubeconfig) as api:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        said = raise_for(
            api.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
        )
    assert said.body["status"]["userInfo"]["username"] == "system:serviceaccount:default:robot"
    cluster.stop()


def test_a_user_who_impersonates_is_who_it_says(powerful: Raw, options: Any) -> None:
    user = {**powerful["users"][0]["user"], "as": "robin", "as-groups": ["system:masters", "red"]}
    cluster = KubeconfigCluster(options(with_user(powerful, user), i_own=True))
    cluster.check()
    with Api.from_kubeconfig(cluster.kubeconfig) as api:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        said = raise_for(
            api.request("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
        )
    info = said.body["status"]["userInfo"]
    assert info["username"] == "robin"
    assert {"system:masters", "red"} <= set(info["groups"])
    cluster.stop()


@pytest.mark.parametrize(
    ("body", "complaint"),
    [("echo no session >&2; exit 2", "ended with code 2: no session"), ("rm -f $0; exit 9", "9")],
)
def test_a_plugin_that_fails_is_told(
    powerful: Raw, options: Any, tmp_path: Path, body: str, complaint: str
) -> None:
    said = refusal(options(with_user(powerful, plugin(tmp_path, body)), i_own=True))
    assert said.startswith("the credential plugin ")
    assert complaint in said


def test_a_plugin_that_is_missing_or_hangs_is_told(
    powerful: Raw, options: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = plugin(tmp_path, "sleep 60")
    # The bound is 15 s.
    monkeypatch.setitem(Plugin.__init__.__kwdefaults__, "seconds", 1.0)
    assert "gave no answer within 1 s" in refusal(options(with_user(powerful, user), i_own=True))
    (tmp_path / "plugin").unlink()
    assert "is not installed" in refusal(options(with_user(powerful, user), i_own=True))


# The way there -------------------------------------------------------------------------------------


def test_a_server_that_refuses_or_never_answers_is_told_in_seconds(
    powerful: Raw, options: Any
) -> None:
    gone = with_cluster(powerful, server=f"https://127.0.0.1:{closed_port()}")
    assert "cannot be reached (connection refused)" in refusal(options(gone, i_own=True))
    with silent_server() as url:
        said = refusal(options(with_cluster(powerful, server=url), i_own=True))
    assert "no answer within 5 s" in said
    nameless = with_cluster(powerful, server="https://cluster.invalid:6443")
    assert "cannot be reached" in refusal(options(nameless, i_own=True))


def test_a_server_of_another_authority_or_name_is_not_trusted(powerful: Raw, options: Any) -> None:
    other = with_cluster(powerful, **{"certificate-authority-data": Authority().bundle})
    said = refusal(options(other, i_own=True))
    assert "is not signed by the certificate-authority of the kubeconfig" in said
    renamed = with_cluster(powerful, **{"tls-server-name": "elsewhere.example"})
    assert "is for another name" in refusal(options(renamed, i_own=True))


def test_a_server_that_is_no_api_server_is_told(options: Any, powerful: Raw) -> None:
    fake = FakeApi(POD)
    said = refusal(options(with_cluster(powerful, server=fake.url), i_own=True))
    fake.close()
    assert "answered /version with 404" in said
    assert "expected a Kubernetes API server" in said


def test_a_proxy_of_the_environment_is_used_and_named_when_it_is_down(
    cluster: EmbeddedCluster, powerful: Raw, options: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The name is in the certificate, and leads nowhere but through the proxy.
    port = urlsplit(cluster.server).port
    far = with_cluster(
        powerful, server=f"https://cluster.invalid:{port}", **{"tls-server-name": "localhost"}
    )
    proxy = ConnectProxy(("127.0.0.1", port or 0))
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    cluster = KubeconfigCluster(options(far, i_own=True))
    cluster.check()
    cluster.stop()
    assert set(proxy.asked) == {f"cluster.invalid:{port}"}
    proxy.close()
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{closed_port()}")
    said = refusal(options(far, i_own=True))
    assert "of HTTPS_PROXY (connection refused); correct or unset that" in said
    # This machine is reached without it.
    near = KubeconfigCluster(options(powerful, i_own=True))
    near.check()
    near.stop()


def test_the_proxy_of_the_kubeconfig_counts_even_for_this_machine(
    cluster: EmbeddedCluster, powerful: Raw, options: Any
) -> None:
    proxy = ConnectProxy(("127.0.0.1", urlsplit(cluster.server).port or 0))
    cluster = KubeconfigCluster(
        options(with_cluster(powerful, **{"proxy-url": proxy.url}), i_own=True)
    )
    cluster.check()
    cluster.stop()
    assert proxy.asked
    proxy.close()
    down = with_cluster(powerful, **{"proxy-url": f"http://127.0.0.1:{closed_port()}"})
    assert "of proxy-url in the kubeconfig (connection refused)" in refusal(
        options(down, i_own=True)
    )
