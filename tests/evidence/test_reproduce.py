"""The script that repeats a case, really run here against a kubectl that only writes down."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.evidence.reproduce import script
from conformance.model.graph import ApiVersion
from conformance.model.manifest import manifest
from conformance.model.transition import ChangeKind
from tests.builders import made
from tests.evidence import sample

_KUBECTL = """#!/usr/bin/env python3
import json, os, sys
stdin = sys.stdin.read() if "-f" in sys.argv else ""
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps([sys.argv[1:], stdin]) + "\\n")
"""


def _run(text: str, folder: Path) -> list[tuple[list[str], Any]]:
    """The arguments and the parsed standard input of each kubectl call of the script."""
    for name, body in (("kubectl", _KUBECTL), ("sleep", "#!/bin/sh\n")):
        (folder / name).write_text(body)
        (folder / name).chmod(0o755)
    calls = folder / "calls"
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "CALLS": str(calls)}
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)
    subprocess.run(["bash", "-eu"], input=text, text=True, check=True, env=environment, timeout=60)
    found = [json.loads(line) for line in calls.read_text().splitlines()]
    return [(arguments, yaml.safe_load(stdin)) for arguments, stdin in found]


def _patched(content_type: str, body: Any, **fields: Any) -> str:
    h = sample.story()
    request = {"verb": "PATCH", "contentType": content_type, "body": body}
    sample.step(h, 0.0, "change", request=request, **fields)
    return script(h.history())


def test_deploy_and_merge_patch_are_sent_as_they_were(tmp_path: Path) -> None:
    history, _ = sample.leftover()
    calls = _run(script(history), tmp_path)
    assert [arguments[:4] for arguments, _ in calls] == [
        ["create", "namespace", "dgd-1a2b"],
        ["-n", "dgd-1a2b", "create", "-f"],
        ["-n", "dgd-1a2b", "patch", "dynamographdeployments.v1alpha1.nvidia.com"],
        ["-n", "dgd-1a2b", "get", "deployments,leaderworkersets,podgroups"],
    ]
    assert calls[1][1] == manifest(
        sample.GRAPH, version=ApiVersion.V1ALPHA1, namespace=sample.NAMESPACE
    )
    patch = calls[2][0]
    assert patch[4:7] == ["vllm-agg", "--type=merge", "-p"]
    services = {"worker": {"multinode": {"nodeCount": 2}}}
    assert json.loads(patch[7]) == {"spec": {"services": services}}


def test_a_json_patch_with_quotes_survives_the_shell(tmp_path: Path) -> None:
    body = [{"op": "replace", "path": "/spec/x", "value": 'it\'s "$HOME" `id` \\ ü'}]
    text = _patched("application/json-patch+json", body, door="json-patch-v1beta1")
    arguments = _run(text, tmp_path)[1][0]
    assert arguments[2:6] == [
        "patch", "dynamographdeployments.v1beta1.nvidia.com", "vllm-agg", "--type=json",
    ]  # fmt: skip
    assert json.loads(arguments[-1]) == body


@pytest.mark.parametrize(
    ("verb", "content_type", "words"),
    [
        ("PUT", "application/json", ["replace"]),
        (
            "PATCH",
            "application/apply-patch+yaml",
            ["apply", "--server-side", "--force-conflicts", "--field-manager=dgd-conformance"],
        ),
    ],
)
def test_whole_objects_lose_what_only_the_old_cluster_knew(
    verb: str, content_type: str, words: list[str], tmp_path: Path
) -> None:
    body = {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "a", "resourceVersion": "9", "uid": "u", "managedFields": [{}]},
        "spec": {"text": "first\nEOF\nlast $HOME"},
        "status": {"state": "successful"},
    }
    h = sample.story()
    request = {"verb": verb, "contentType": content_type, "body": body}
    sample.step(h, 0.0, "change", request=request)
    arguments, stdin = _run(script(h.history()), tmp_path)[1]
    assert arguments[2:-2] == words
    assert stdin["metadata"] == {"name": "a"}
    assert stdin["spec"] == body["spec"]
    assert "status" not in stdin


def test_a_delete_keeps_its_propagation(tmp_path: Path) -> None:
    h = sample.story()
    request = {"verb": "DELETE"}
    sample.step(h, 0.0, "delete", kind=ChangeKind.DELETE, request=request, propagation="Foreground")
    arguments = _run(script(h.history()), tmp_path)[1][0]
    assert arguments[-2:] == ["--cascade=foreground", "--wait=false"]


def test_an_edit_of_a_component_goes_to_the_component(tmp_path: Path) -> None:
    text = _patched(
        "application/merge-patch+json",
        {"spec": {"multinode": None}},
        component="vllm-agg-worker",
    )
    arguments = _run(text, tmp_path)[1][0]
    assert arguments[3:5] == ["dynamocomponentdeployments.v1alpha1.nvidia.com", "vllm-agg-worker"]


def test_foreign_objects_come_before_the_step_that_met_them(tmp_path: Path) -> None:
    h = sample.story()
    spec = {"ports": [{"port": 1}]}
    h.foreign(made("Service", "vllm-agg-worker", namespace=sample.NAMESPACE, spec=spec))
    sample.step(h, 0.0, "add-multinode-2")
    calls = _run(script(h.history()), tmp_path)
    assert calls[1][1]["spec"] == {"ports": [{"port": 1}]}
    assert calls[2][0][2] == "patch"


def test_what_was_done_to_the_operator_is_a_comment_only(tmp_path: Path) -> None:
    h = sample.story()
    sample.step(h, 0.0, "kill-operator", kind=ChangeKind.OPERATOR, code=0, request={})
    text = script(h.history())
    assert "# kill-operator\n# no request, this acts on the operator itself" in text
    assert [arguments[0] for arguments, _ in _run(text, tmp_path)] == ["create", "-n"]


def test_pauses_of_the_case_are_kept_and_quick_steps_stay_quick() -> None:
    h = sample.story()
    sample.step(h, 0.0, "first")
    sample.step(h, 0.2, "quick")
    sample.step(h, 4.0, "late")
    lines = [line for line in script(h.history()).splitlines() if not line.startswith("kubectl")]
    assert lines[2:] == ["# first", "# quick", "sleep 4", "# late"]


def test_a_superseded_step_and_a_wait_send_nothing(tmp_path: Path) -> None:
    h = sample.story()
    sample.step(
        h, 0.0, "again", code=0, request={}, answer={"superseded": "an earlier refusal stands"}
    )
    sample.step(h, 1.0, "idle", kind=ChangeKind.NO_OP, code=0, request={}, target="")
    text = script(h.history())
    assert "# again\n# no request, an earlier refusal stands" in text
    assert "# idle\n# no request, the case only waits" in text
    assert len(_run(text, tmp_path)) == 2


def test_the_version_is_that_of_the_requests_own_path() -> None:
    h = sample.story()
    path = "/apis/nvidia.com/v1beta1/namespaces/n/dynamographdeployments/vllm-agg"
    request = {"verb": "DELETE", "path": path}
    sample.step(h, 0.0, "delete", request=request, door="delete-v1alpha1")
    assert "dynamographdeployments.v1beta1.nvidia.com vllm-agg" in script(h.history())
