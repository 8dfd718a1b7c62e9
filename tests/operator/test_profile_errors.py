"""A mistake in a profile costs a second and one sentence."""

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
    GOOD + "single_node: {kind: LeaderWorkerSet}\n": (
        "p.yaml: `single_node.kind`: no workload for a single node; expected Deployment or "
        "StatefulSet, found 'LeaderWorkerSet'"
    ),
    GOOD + "multinode: {kind: Deployment}\n": (
        "p.yaml: `multinode.kind`: no workload for many nodes; expected LeaderWorkerSet or "
        "PodCliqueSet or DisaggregatedSet, found 'Deployment'"
    ),
    GOOD + "services: [{use: component, nam: a}]\n": (
        "p.yaml: `services.0` has no field `nam`; did you mean `name`?"
    ),
    GOOD + "retained: [{kind: Secret, name: '*', reason: r}]\n": (
        "p.yaml: `retained.0.name`: would match nearly everything; expected a name, or a pattern that "
        "holds at least 3 letters or digits in a row, found '*'"
    ),
    GOOD + "retained: [{kind: Deployment, name: agg-worker, reason: r}]\n": (
        "p.yaml: `retained.0`: a Deployment may not outlive its graph, whatever its name; expected a "
        "kind that runs no pods and holds nothing for them"
    ),
    GOOD + "retained: [{kind: Secret, name: ssh, reason: ''}]\n": (
        "p.yaml: `retained.0.reason` must not be empty, found ''"
    ),
    GOOD
    + "multinode: {gang: per-group, gang_kind: Crowd}\n"
    + "retained: [{kind: Crowd, name: mine, reason: r}]\n": (
        "p.yaml: `retained` lists Crowd, the gang kind: whether gang objects are left over is what "
        "the suite is about"
    ),
    GOOD + "multinode: {gang: none, gang_kind: Nothing}\n": (
        "p.yaml: `multinode`: `gang_kind` has no use with `gang: none`, and would hide PodGroups that "
        "are left over; leave it out, or say `gang: per-group`"
    ),
    GOOD + "masks: [{path: 'spec*', reason: r}]\n": (
        "p.yaml: `masks.0.path`: would hide spec.replicas; a mask may not cover how many pods there "
        "are or what they run, found 'spec*'"
    ),
    GOOD + "masks: [{path: spec.leaderWorkerTemplate.size, reason: r}]\n": (
        "p.yaml: `masks.0.path`: would hide spec.leaderWorkerTemplate.size; a mask may not cover how "
        "many pods there are or what they run, found 'spec.leaderWorkerTemplate.size'"
    ),
    GOOD + "fidelity_exceptions: [{field: '[a-z]*', reason: r}]\n": (
        "p.yaml: `fidelity_exceptions.0.field`: would match nearly everything; expected a name, or a "
        "pattern that holds at least 3 letters or digits in a row, found '[a-z]*'"
    ),
    GOOD + "services: [{use: debug, name: '{component}-d'}]\n": (
        "p.yaml: `services.0`: use debug needs a `reason`: its pods are then not judged"
    ),
    GOOD + "services: [{use: debug, reason: r}]\n": (
        "p.yaml: `services.0`: use debug needs a `name` or `labels`; else it matches all"
    ),
    GOOD + "services: [{use: shared, name: '*', reason: r}]\n": (
        "p.yaml: `services.0`: would match nearly everything; expected a name, or a pattern that "
        "holds at least 3 letters or digits in a row"
    ),
    GOOD + "services: [{use: shared, name: '{graph}*', reason: r}]\n": (
        "p.yaml: `services.0`: use shared with the name '{graph}*' would match every component's own "
        "Service; expected a narrower name, or `labels`"
    ),
    GOOD + "rollouts: [{path: [status, phase], values: [Running], bound: 1000000}]\n": (
        "p.yaml: `rollouts.0.bound` must be at most 300, found 1000000"
    ),
    GOOD + "rollouts: [{path: [status], values: [Running]}]\n": (
        "p.yaml: `rollouts.0.path` must have at least 2 items, found ['status']"
    ),
    GOOD + "rollouts: [{path: [status, state], values: [pending, successful]}]\n": (
        "p.yaml: `rollouts.0`: `values` lists 'successful': a rollout that is over excuses nothing"
    ),
    GOOD + "rollouts: [{path: [metadata, name], values: [agg]}]\n": (
        "p.yaml: `rollouts.0`: `path` must start with status: nothing else tells of a rollout"
    ),
    GOOD + "refusal_words: ['.*']\n": (
        "p.yaml: `refusal_words.0`: would match any refusal; expected words of this operator's own, "
        "found '.*'"
    ),
    GOOD + "refusal_words: [denied the request]\n": (
        "p.yaml: `refusal_words.0`: would match any refusal; expected words of this operator's own, "
        "found 'denied the request'"
    ),
    GOOD + "labels: {reserved: ['']}\n": (
        "p.yaml: `labels.reserved.0`: would cover the keys that the suite writes as a user; expected "
        "a prefix of the operator's own, such as nvidia.com/, found ''"
    ),
    GOOD + "status: {service_maps: []}\n": (
        "p.yaml: `status`: an empty `service_maps` needs a `reason`: what the status says of services "
        "is then not judged"
    ),
    GOOD + "without: [{feature: multinode, reason: r}]\n": (
        "p.yaml: `without.0`: multinode needs no reason: a run without it is partial, whatever the "
        "reason; expected bare-component"
    ),
    GOOD + "without: [{feature: bare-component, reason: r}]\n": (
        "p.yaml: `without` names bare-component, which `features` lists; expected one of both"
    ),
    GOOD + "identity_user: system:kube-controller-manager\n": (
        "p.yaml: `identity_user`: is the name of another; expected a user name of the operator's own, "
        "found 'system:kube-controller-manager'"
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


@pytest.mark.parametrize(
    "text",
    [
        "retained: [{kind: ServiceAccount, name: 'planner-*', reason: r}]",
        "retained: [{kind: Secret, name: s3, reason: r}]",
        "masks: [{path: '*.env.DYN_NAMESPACE_WORKER_SUFFIX.value', reason: r}]",
        "masks: [{kind: Service, path: 'spec.selector.*', reason: r}]",
        "fidelity_exceptions: [{field: env, reason: r}]",
        "services: [{use: debug, name: '{component}-d', reason: r}]",
        "services: [{use: shared, labels: {a: b}, reason: r}]",
        "refusal_words: [cannot change node topology]",
        "labels: {reserved: [nvidia.com/, acme.io/]}",
        "status: {service_maps: [], reason: there are none}",
        "rollouts: [{path: [status, rollingUpdate, phase], values: [InProgress], bound: 300}]",
        "identity_user: 'system:serviceaccount:ops:manager'",
        "features: [multinode]\nwithout: [{feature: bare-component, reason: r}]",
    ],
)
def test_a_narrow_exception_is_allowed(text: str) -> None:
    assert profiles.parse(GOOD + text, where="p.yaml").identity.name == "x"


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
