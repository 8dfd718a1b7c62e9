"""What is recorded outside a case's namespace: which files to read, and which records concern it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.history.records import JSON_LINES, Event, Record, Write
from conformance.model.labels import OWNED
from conformance.record.reading import RecordFiles

# Cluster-scoped kinds that mention namespaces without belonging to any: kind → reason.
NOISE: dict[str, str] = {
    "CustomResourceDefinition": "installed for all namespaces",
    "ValidatingWebhookConfiguration": "installed for all namespaces; selectors may list them",
    "MutatingWebhookConfiguration": "installed for all namespaces; selectors may list them",
    "APIService": "installed for all namespaces",
    "Node": "carries the load of all namespaces",
}
_NAMESPACE = b'"kind":"Namespace"'
_OWNED = OWNED.encode()
# A hundred files, and each worker looks: often enough is soon after an object of a new namespace.
_LOOK_SECONDS = 1.0


def owned_namespace(record: Record) -> str:
    """The namespace that this record shows to be the suite's, by its label; else empty."""
    if not isinstance(record, Event) or record.obj.kind != "Namespace":
        return ""
    return record.obj.name if record.obj.labels.get(OWNED) else ""


class OtherNamespaces:
    """Reads the files of namespaces that the suite did not make (the operator's own, the platform's,
    and new ones), each from its beginning, as they appear.

    `case` is left out in any case. A namespace of the suite may be read until its label is on record,
    so whoever reads on must pick what concerns it.
    """

    def __init__(self, files: RecordFiles, *, case: str) -> None:
        self._files = files
        self._owned = {case}
        self._names: set[str] = set()
        self._looked_at = float("-inf")

    def learn(self, line: bytes) -> None:
        """Take in a line of a cluster-scoped object: it may be the label of one of the suite's."""
        if _NAMESPACE in line and _OWNED in line:
            name = owned_namespace(JSON_LINES.decode(line))
            if name and name not in self._owned:
                self._owned.add(name)
                self._files.forget(name)

    def read(self) -> Iterator[bytes]:
        """New lines of these files. Raises InfraError if one cannot be read."""
        now = time.monotonic()
        if now - self._looked_at > _LOOK_SECONDS:
            self._looked_at = now
            self._names.update(self._files.namespaces())
        self._names -= self._owned
        for name in sorted(self._names):
            yield from self._files.lines(name)


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
            concerns = record.name in self._names or bool(self._name.search(record.name))
        else:
            concerns = isinstance(record, Event) and self._concerns(record)
        return record if concerns else None

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
