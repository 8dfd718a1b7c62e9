import json
import stat
from pathlib import Path
from typing import Any

import pytest

from conformance.cluster.kubeconfig import contexts
from conformance.model.errors import UsageError


def write(path: Path, name: str, *, cluster: Any = None, user: Any = None, **context: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "clusters": [{"name": "c", "cluster": cluster or {"server": f"https://{name}"}}],
        "users": [{"name": "u", "user": user or {"token": name}}],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u", **context}}],
        "current-context": name,
    }
    path.write_text(json.dumps(content))
    return path


def test_the_private_copy_holds_one_context_without_its_namespace(tmp_path: Path) -> None:
    path = write(tmp_path / "config", "prod", namespace="shop")
    context = contexts.read([path], "prod")
    assert context.namespace == "shop"
    copy = context.write(tmp_path / "copy")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    content = json.loads(copy.read_text())
    assert content["current-context"] == "prod"
    assert content["contexts"] == [
        {"name": "prod", "context": {"cluster": "cluster", "user": "user"}}
    ]
    assert content["users"] == [{"name": "user", "user": {"token": "prod"}}]


def test_paths_and_plugins_count_from_the_file_that_names_them(tmp_path: Path) -> None:
    user = {
        "client-certificate": "pki/me.crt",
        "client-key": "/abs/me.key",
        "exec": {"command": "bin/login", "apiVersion": "v1", "args": ["x"]},
    }
    cluster = {
        "server": "https://a", "certificate-authority": "../ca.crt", "proxy-url": "http://p:1",
    }  # fmt: skip
    path = write(tmp_path / "sub" / "config", "a", cluster=cluster, user=user)
    context = contexts.read([path], "a")
    assert context.user["client-certificate"] == str(tmp_path / "sub/pki/me.crt")
    assert context.user["client-key"] == "/abs/me.key"
    assert context.user["exec"]["command"] == str(tmp_path / "sub/bin/login")
    assert context.cluster["certificate-authority"] == str(tmp_path / "sub/../ca.crt")
    assert context.cluster["proxy-url"] == "http://p:1"


def test_a_plugin_on_path_keeps_its_bare_name(tmp_path: Path) -> None:
    path = write(tmp_path / "config", "a", user={"exec": {"command": "aws", "apiVersion": "v1"}})
    assert contexts.read([path], "a").user["exec"]["command"] == "aws"


def test_the_files_of_the_variable_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    first = write(tmp_path / "1", "a")
    second = write(tmp_path / "2", "b", cluster={"server": "https://second"})
    environ = {"KUBECONFIG": f"{first}:{tmp_path / 'missing'}:{second}"}
    paths = contexts.files(None, environ)
    assert paths == [first, second]
    with pytest.raises(UsageError, match=r"\(there: a, b\)"):
        contexts.read(paths, "neither")
    # Both files have a cluster `c`.
    assert contexts.read(paths, "b").server == "https://a"


def test_a_named_file_is_the_only_one(tmp_path: Path) -> None:
    given = write(tmp_path / "1", "a")
    assert contexts.files(given, {"KUBECONFIG": "/nowhere"}) == [given]
    with pytest.raises(UsageError, match=r"--kubeconfig=.*gone does not exist"):
        contexts.files(tmp_path / "gone", {})
    with pytest.raises(UsageError, match=r"KUBECONFIG=/nowhere does not exist"):
        contexts.files(None, {"KUBECONFIG": "/nowhere"})


def test_no_context_is_used_unless_it_is_named(tmp_path: Path) -> None:
    paths = [write(tmp_path / "1", "prod-eu")]
    with pytest.raises(
        UsageError, match=r"names no context; name .*prod-eu\): the current context"
    ):
        contexts.read(paths, None)
    with pytest.raises(
        UsageError, match=r"--kube-context=prod-uk is not in .*did you mean prod-eu"
    ):
        contexts.read(paths, "prod-uk")
    assert contexts.read(paths, "prod-eu").name == "prod-eu"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "cannot be read"),
        ("[1, 2]", "is no kubeconfig; expected YAML with `contexts`"),
        ("just words", "is no kubeconfig"),
        ("contexts: [{context: {}}]", "cannot be read"),
        ("contexts: [{name: a, context: {cluster: x}}]", "names the cluster 'x', not in"),
        (
            "{contexts: [{name: a, context: {cluster: c}}], clusters: [{name: c}]}",
            "has no `server`",
        ),
    ],
)
def test_a_broken_file_is_told_by_its_name(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(UsageError, match=complaint) as caught:
        contexts.read([path], "a")
    assert str(path) in str(caught.value)
