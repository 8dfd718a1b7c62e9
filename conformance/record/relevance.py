"""Which records of other namespaces and of the cluster concern a case: those that name it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from conformance.history.records import JSON_LINES, Event, Record, Write

# Cluster-scoped kinds that mention namespaces without belonging to any: kind → reason.
NOISE: dict[str, str] = {
    "CustomResourceDefinition": "installed for all namespaces",
    "ValidatingWebhookConfiguration": "installed for all namespaces; selectors may list them",
    "MutatingWebhookConfiguration": "installed for all namespaces; selectors may list them",
    "APIService": "installed for all namespaces",
    "Node": "carries the load of all namespaces",
}


class Relevance:
    """Picks the records that concern a namespace: its Namespace, objects with its name as a value
    (claimRef, subjects, labels) or as a part of their own name, those with the uid of one of its graphs
    or components as a value, and everything that then happens to those objects."""

    def __init__(self, namespace: str) -> None:
        self._name = re.compile(rf"(?:^|[.:/-]){re.escape(namespace)}(?:$|[.:/-])")
        self._values = {namespace}
        self._uids: set[str] = set()
        self._names: set[str] = set()
        # Only a line with one of these is parsed at all: most are told apart by that.
        self._marks = [namespace.encode()]

    def know(self, uid: str) -> None:
        """From now on, whatever has this uid as a value (a label, an owner reference) concerns the
        namespace, too."""
        if uid not in self._values:
            self._values.add(uid)
            self._marks.append(uid.encode())

    def decode(self, line: bytes) -> Record | None:
        """The line's record if it concerns the namespace."""
        if not any(mark in line for mark in self._marks):
            return None
        record = JSON_LINES.decode(line)
        if isinstance(record, Write):
            named = record.name in self._names or self._name.search(record.name)
            return record if named else None
        return record if isinstance(record, Event) and self._concerns(record) else None

    def _concerns(self, event: Event) -> bool:
        obj = event.obj
        if obj.kind in NOISE:
            return False
        if obj.uid not in self._uids:
            if not (self._name.search(obj.name) or self._mentioned(event.object)):
                return False
            self._uids.add(obj.uid)
            self._names.add(obj.name)
            self._marks += [obj.uid.encode(), b'"name":"' + obj.name.encode() + b'"']
        return True

    def _mentioned(self, value: Any) -> bool:
        if isinstance(value, str):
            return value in self._values
        if isinstance(value, Mapping):
            return any(self._mentioned(item) for item in value.values())
        return isinstance(value, list) and any(self._mentioned(item) for item in value)
