"""Which records of other namespaces and of the cluster concern a case: those that name it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

# Cluster-scoped kinds that mention namespaces without belonging to any: kind → reason.
NOISE: dict[str, str] = {
    "CustomResourceDefinition": "installed for all namespaces",
    "ValidatingWebhookConfiguration": "installed for all namespaces; selectors may list them",
    "MutatingWebhookConfiguration": "installed for all namespaces; selectors may list them",
    "APIService": "installed for all namespaces",
    "Node": "carries the load of all namespaces",
}


class Concerns:
    """Picks the lines that concern a namespace: its Namespace, objects with its name as a value
    (claimRef, subjects, labels) or as a part of their own name, those with the uid of one of its graphs
    or components as a value, and everything that then happens to those objects."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._bytes = namespace.encode()
        self._whole = re.compile(rf"(?:^|[.:/-]){re.escape(namespace)}(?:$|[.:/-])")
        self._values = {namespace}
        self._uids: set[str] = set()
        self._names: set[str] = set()
        self._marks: list[bytes] = []

    def know(self, uid: str) -> None:
        """From now on what has this uid as a value, a label or an owner say, concerns the namespace,
        too."""
        if uid not in self._values:
            self._values.add(uid)
            self._marks.append(uid.encode())

    def parse(self, line: bytes) -> dict[str, Any] | None:
        """The line's data if it concerns the namespace. Most lines are told apart unparsed."""
        if self._bytes not in line and not any(mark in line for mark in self._marks):
            return None
        data: dict[str, Any] = json.loads(line)
        if data["record"] == "write":
            return data if self._write_concerns(data) else None
        obj = data["object"]
        meta = obj["metadata"]
        if obj.get("kind") in NOISE:
            return None
        if meta["uid"] not in self._uids:
            if not (self._whole.search(meta["name"]) or self._mentioned(obj)):
                return None
            self._uids.add(meta["uid"])
            self._names.add(meta["name"])
            self._marks += [meta["uid"].encode(), b'"name":"' + meta["name"].encode() + b'"']
        return data

    def _write_concerns(self, write: Mapping[str, Any]) -> bool:
        return write["name"] in self._names or bool(self._whole.search(write["name"]))

    def _mentioned(self, value: Any) -> bool:
        if isinstance(value, str):
            return value in self._values
        if isinstance(value, Mapping):
            return any(self._mentioned(item) for item in value.values())
        return isinstance(value, list) and any(self._mentioned(item) for item in value)
