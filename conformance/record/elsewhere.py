"""What is recorded outside a case's namespace and concerns the case all the same."""

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from conformance.history.records import JSON_LINES, Event, Record, Write
from conformance.model.labels import OWNED
from conformance.record.files import CLUSTER, RecordFiles

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


class Elsewhere:
    """Picks the records that concern a namespace: its Namespace, objects with its name as a value
    (claimRef, subjects, labels) or as a part of their own name, those with the uid of one of its graphs
    or components as a value, and everything that then happens to those objects.

    They are cluster-scoped or, with `other_namespaces`, in any namespace that the suite did not make.
    """

    def __init__(self, files: RecordFiles, namespace: str, *, other_namespaces: bool) -> None:
        self._files = files
        self._other_namespaces = other_namespaces
        self._owned = {namespace}
        self._others: set[str] = set()
        self._looked_at = float("-inf")
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

    def records(self) -> Iterator[Record]:
        """Those that came since the last call. Raises InfraError if a file cannot be read."""
        for line in self._lines():
            if any(mark in line for mark in self._marks):
                record = JSON_LINES.decode(line)
                if self._concerns(record):
                    yield record

    def _lines(self) -> Iterator[bytes]:
        for line in self._files.lines(CLUSTER):
            if self._other_namespaces and _NAMESPACE in line and _OWNED in line:
                # One of the suite may have been read until now, when its label is on record.
                name = owned_namespace(JSON_LINES.decode(line))
                self._owned.add(name)
                if name in self._others:
                    self._files.forget(name)
            yield line
        now = time.monotonic()
        if self._other_namespaces and now - self._looked_at > _LOOK_SECONDS:
            self._looked_at = now
            self._others.update(self._files.namespaces())
        self._others -= self._owned
        for name in sorted(self._others):
            yield from self._files.lines(name)

    def _concerns(self, record: Record) -> bool:
        if isinstance(record, Write):
            return record.name in self._names or bool(self._name.search(record.name))
        if not isinstance(record, Event) or record.obj.kind in NOISE:
            return False
        obj = record.obj
        if obj.uid not in self._uids:
            if not (self._name.search(obj.name) or self._mentioned(record.object)):
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
