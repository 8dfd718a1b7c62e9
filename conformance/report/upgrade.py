"""Reports and results of cases of v1alpha1, read as they would be written today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.report.model import API_VERSION

_OLD = "conformance.dgd.dev/v1alpha1"
_CASE = {"node": "nodeid", "parts": "shards"}
# The field that holds an object → names of the object's own fields, old and new.
_FIELDS = {
    "report": {"admin": "cluster_admin"},
    "statistics": {"lacking": "required_not_run"},
    "cases": _CASE,
    "parts": _CASE,
    "findings": {"known": "known_failure"},
}
_VALUES = {
    ("apiVersion", _OLD): API_VERSION,
    ("not_run", "moot"): "nothing-to-judge",
    ("kind", "keeper"): "retained-object",
}


def report(data: Any) -> Any:
    """A report as read from a file. One that is not of v1alpha1 comes back as it is."""
    old = isinstance(data, Mapping) and data.get("apiVersion") == _OLD
    return _upgraded(data, "report") if old else data


def case(data: Any) -> Any:
    """The result of one case. Its file has no version: the old names are in use nowhere else."""
    return _upgraded(data, "cases")


def _upgraded(data: Any, field: str) -> Any:
    if isinstance(data, list):
        return [_upgraded(one, field) for one in data]
    if not isinstance(data, Mapping):
        return _VALUES.get((field, data), data)
    names = _FIELDS.get(field, {})
    return {names.get(key, key): _upgraded(value, key) for key, value in data.items()}
