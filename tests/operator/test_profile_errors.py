"""A mistake in a profile costs a second and one sentence."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from conformance.model.errors import UsageError
from conformance.operator import profiles

GOOD = "identity: {name: x}\ninstall: {command: [run]}\n"

SENTENCES = {
    "": "p.yaml holds nothing; expected a mapping that starts with `identity:`",
    "- a": "p.yaml holds a list; expected a mapping that starts with `identity:`",
    "identity: {name: x}\ninstall:\n  comand: [a]\n": (
        "p.yaml: `install` has no field `comand`; did you mean `command`?"
    ),
    GOOD + "promise: {}\n": "p.yaml: a profile has no field `promise`; did you mean `promises`?",
    "identity: {name: X Y}\ninstall: {command: [a]}\n": (
        "p.yaml: `identity.name` must match ^[a-z0-9][a-z0-9.-]*$, found 'X Y'"
    ),
    "identity: {name: x, version: 2026}\ninstall: {command: [a]}\n": (
        "p.yaml: `identity.version` must be text (put it in quotes), found 2026"
    ),
    "identity: {name: x}\ninstall: {command: a}\n": (
        "p.yaml: `install.command` must be a list, found 'a'"
    ),
    GOOD + "promises: {add_multinode: maybe}\n": (
        "p.yaml: `promises.add_multinode` must be one of reconcile, refuse or either, found 'maybe'"
    ),
    "identity: {name: x}\ninstall: {command: []}\n": (
        "p.yaml: `install.command` must have at least 1 item, found []"
    ),
    "identity: {name: x}\n": ("p.yaml: needs `install` (a process), `in_cluster` (pods), or both"),
    "identity: x\ninstall: {command: [a]}\n": "p.yaml: `identity` must be a mapping, found 'x'",
    "identity: {name: x}\ninstall: {command: [a], fixed_ports: {webhook: 99999}}\n": (
        "p.yaml: `install.fixed_ports.webhook` must be at most 65535, found 99999"
    ),
    "identity: {name: x}\ninstall: {command: [a], cluster_admin: sometimes}\n": (
        "p.yaml: `install.cluster_admin` must be true or false, found 'sometimes'"
    ),
    "identity: {name: x}\ninstall: {command: [a], files: [{path: a}]}\n": (
        "p.yaml: the field `install.files.0.content` is missing"
    ),
    "identity: {name: x}\ninstall: {command: [a], ready: 'localhost:1'}\n": (
        "p.yaml: `install.ready`: not a URL that starts with http:// or https://, "
        "found 'localhost:1'"
    ),
    "identity: {name: x}\ninstall: {command: [a], rbac: [x]}\n": (
        "p.yaml: `install`: rbac has no effect for a cluster admin; say `cluster_admin: false` too"
    ),
    GOOD + "refusal_words: ['(']\n": (
        "p.yaml: `refusal_words.0`: not a regular expression: missing ), unterminated subpattern "
        "at position 0, found '('"
    ),
    GOOD + "versions: [v1]\n": (
        "p.yaml: `versions.0` must be one of v1alpha1 or v1beta1, found 'v1'"
    ),
    GOOD + "features: [v1beta1]\n": (
        "p.yaml: features name API versions that `versions` does not list: v1beta1"
    ),
    GOOD + "services: [{use: component, nam: a}]\n": (
        "p.yaml: `services.0` has no field `nam`; did you mean `name`?"
    ),
    GOOD + "identity: {name: y}\n": (
        "p.yaml is not YAML in line 3: the key identity is given twice"
    ),
    "identity: {name: x\ninstall: {command: [a]}\n": (
        "p.yaml is not YAML in line 2: expected ',' or '}', but got ':'"
    ),
}


@pytest.mark.parametrize("text", SENTENCES, ids=range(len(SENTENCES)))
def test_mistake_is_told_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        profiles.parse(text, where="p.yaml")
    assert str(caught.value) == SENTENCES[text]
    assert "\n" not in str(caught.value)


def test_all_mistakes_of_a_profile_are_told_a_line_each(tmp_path: Path) -> None:
    text = "identity: {name: X Y}\ninstall: {comand: [a], ports: x}\npromise: {}\n"
    with pytest.raises(UsageError) as caught:
        profiles.parse(text, where="p.yaml")
    lines = str(caught.value).splitlines()
    assert len(lines) == 4
    assert all(line.startswith("p.yaml: ") for line in lines)
    for word in ("`comand`", "`promise`", "`identity.name`", "`install.ports`"):
        assert sum(word in line for line in lines) == 1


def test_all_wrong_templates_and_paths_are_told(tmp_path: Path) -> None:
    text = (
        "identity: {name: x}\n"
        "install: {command: ['{bin}', '{kube}'], crds: [nowhere], webhooks: [nothing.yaml]}\n"
        "in_cluster: {deployment: d, manifests: [gone]}\n"
    )
    with pytest.raises(UsageError) as caught:
        profiles.load(_written(tmp_path, text))
    lines = str(caught.value).splitlines()
    assert len(lines) == 5
    for word in ("{bin}", "{kube}", "`install.crds`", "nothing.yaml", "`in_cluster.manifests`"):
        assert sum(word in line for line in lines) == 1


def _written(folder: Path, text: str) -> Path:
    file = folder / "profile.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_unknown_placeholder_is_found_without_an_installation(tmp_path: Path) -> None:
    file = _written(tmp_path, "identity: {name: x}\ninstall: {command: ['{binarry}']}\n")
    with pytest.raises(UsageError, match=r"`install.command.0`: unknown placeholder \{binarry\}"):
        profiles.load(file)


def test_port_placeholders_follow_the_declared_ports(tmp_path: Path) -> None:
    text = "identity: {name: x}\ninstall: {command: ['{port_a}'], ports: [a]}\n"
    assert profiles.load(_written(tmp_path, text)).profile.install.ports == ["a"]
    with pytest.raises(UsageError, match=r"unknown placeholder \{port_a\}.*known are .*port_b"):
        profiles.load(_written(tmp_path, text.replace("[a]", "[b]")))


def test_missing_manifest_is_found_without_an_installation(tmp_path: Path) -> None:
    text = "identity: {name: x}\ninstall: {command: [a], webhooks: [hooks.yaml]}\n"
    file = _written(tmp_path, text)
    with pytest.raises(UsageError, match=r"`install.webhooks` lists hooks.yaml, and there is no"):
        profiles.load(file)
    (tmp_path / "hooks.yaml").touch()
    assert profiles.load(file).profile.install.webhooks == ["hooks.yaml"]


def test_unknown_name_lists_the_known_ones_and_the_nearest() -> None:
    began = time.monotonic()
    with pytest.raises(UsageError) as caught:
        profiles.load("dynamo-2026-8")
    assert time.monotonic() - began < 1
    sentence = str(caught.value)
    assert sentence.startswith("--operator=dynamo-2026-8 is neither a known operator nor a path; ")
    assert "did you mean dynamo-2026-08? Known are " in sentence
    assert all(name in sentence for name in profiles.known())


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ("/nowhere/x.yaml", "--operator=/nowhere/x.yaml: there is no such file or directory"),
        ("", "--operator= is neither a known operator nor a path"),
    ],
)
def test_missing_path_is_a_usage_error(wanted: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        profiles.load(wanted)
    assert str(caught.value).startswith(sentence)


def test_directory_without_a_profile_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is a directory without a profile\.yaml"):
        profiles.load(tmp_path)
