"""The case as a shell script: kubectl lines that send the same requests in the same API versions."""

import copy
import json
import math
import shlex
from collections.abc import Iterator
from typing import Any

import yaml

from conformance.evidence.timeline import unsent
from conformance.history.history import History
from conformance.history.records import Foreign, Step
from conformance.model.graph import GROUP, PLURALS, ApiVersion
from conformance.model.manifest import manifest

_JSON_PATCH = "application/json-patch+json"
_APPLY = "application/apply-patch+yaml"
_SERVER_SET = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_FIELD_MANAGER = "dgd-conformance"
# Requests closer together than this (s) were meant to be quick; kubectl itself takes longer.
_AT_ONCE = 0.5


def script(history: History) -> str:
    """A POSIX shell script that repeats the case against the current kubectl context.

    The script waits between steps for as long as the case did, and ends with the listing that a bug
    report needs. Steps on the operator itself are comments: only its owner knows how to restart it.
    """
    return "".join(f"{line}\n" for line in _lines(history))


def _lines(history: History) -> Iterator[str]:
    header = history.header
    found = [history.namespace, *(step.namespace for step in history.steps)]
    namespaces = [shlex.quote(name) for name in dict.fromkeys(found) if name]
    yield f"# {header.case}: {' '.join(header.title.split())}"
    yield f"# Run this where the operator {header.operator} and LeaderWorkerSet are installed."
    yield from (f"kubectl create namespace {name}" for name in namespaces)
    foreign = sorted(history.foreign, key=lambda record: record.at)
    done = 0.0
    for step in history.steps:
        while foreign and foreign[0].at <= step.sent_at:
            yield from _foreign(history, foreign.pop(0))
        pause = step.sent_at - done
        if done and pause > _AT_ONCE:
            yield f"sleep {math.ceil(pause)}"
        yield from _step(history, step)
        done = step.answered_at
    for record in foreign:
        yield from _foreign(history, record)
    if history.checkpoints:
        yield f"sleep {max(1, math.ceil(history.checkpoints[-1].at - done))}"
    yield from (
        f"kubectl -n {name} get deployments,leaderworkersets,podgroups" for name in namespaces
    )


def _step(history: History, step: Step) -> Iterator[str]:
    yield f"# {step.name}" + ("" if step.judged else " (setup)")
    verb = str(step.request.get("verb", "")).upper()
    body = step.request.get("body")
    ns = shlex.quote(step.namespace or history.namespace)
    target = f"{_resource(history, step)} {shlex.quote(step.target)}"
    if not step.code or not verb:
        yield f"# {unsent(step)}"
    elif verb == "DELETE":
        cascade = step.propagation.lower() or "background"
        yield f"kubectl -n {ns} delete {target} --cascade={cascade} --wait=false"
    elif verb in ("POST", "PUT"):
        if body is None and step.after is not None:
            body = manifest(step.after, version=_version(history, step), namespace=step.namespace)
        yield from _heredoc(f"kubectl -n {ns} {'create' if verb == 'POST' else 'replace'}", body)
    elif step.request.get("contentType") == _APPLY:
        params = step.request.get("params") or {}
        manager = shlex.quote(str(params.get("fieldManager", _FIELD_MANAGER)))
        apply = f"apply --server-side --force-conflicts --field-manager={manager}"
        yield from _heredoc(f"kubectl -n {ns} {apply}", body)
    else:
        kind = "json" if step.request.get("contentType") == _JSON_PATCH else "merge"
        text = json.dumps(body, ensure_ascii=False)
        yield f"kubectl -n {ns} patch {target} --type={kind} -p {shlex.quote(text)}"


def _resource(history: History, step: Step) -> str:
    """`dynamographdeployments.v1alpha1.nvidia.com`: kubectl then uses that very API version."""
    plural = PLURALS.get(step.target_kind)
    if plural is None:
        return shlex.quote(step.target_kind.lower())
    return f"{plural}.{_version(history, step)}.{GROUP}"


def _version(history: History, step: Step) -> ApiVersion:
    path = str(step.request.get("path", ""))
    for version in ApiVersion:
        if f"/apis/{GROUP}/{version}/" in path or (not path and step.door.endswith(str(version))):
            return version
    return history.profile.versions[0]


def _foreign(history: History, record: Foreign) -> Iterator[str]:
    life = history.lives.get(record.uid)
    yield f"# {record.kind} {record.name}, an object that is not the operator's"
    if life is None:
        yield f"# (its content was not recorded: create a {record.kind} named {record.name})"
        return
    body = copy.deepcopy(dict(life.first.raw))
    (body.get("metadata") or {}).pop("ownerReferences", None)
    yield from _heredoc(f"kubectl -n {shlex.quote(record.namespace)} create", body)


def _heredoc(command: str, body: Any) -> Iterator[str]:
    data = copy.deepcopy(body)
    if isinstance(data, dict):
        data.pop("status", None)
        for name in _SERVER_SET:
            # With a stored resourceVersion or uid, another API server would reject the object.
            (data.get("metadata") or {}).pop(name, None)
    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=96)
    end = "EOF"
    while end in text.splitlines():
        end += "_"
    yield f"{command} -f - <<'{end}'"
    yield from text.splitlines()
    yield end
