"""Histories of earlier formats, read as they would be written today, so that they can still be judged.

Format 1 (until 0.1) called a checkpoint a moment, a soak a standing, retained objects keepers,
and a superseded step moot.
"""

from collections.abc import Mapping
from typing import Any

FORMAT = 3
"""The format that is written: since 3 a history may hold how the operator was served (`Load`). A header
without a number is of format 1."""

_RECORDS = {"moment": "checkpoint", "standing": "soak"}
_ANSWERS = {"moot": "superseded"}
_FIELDS = {("tables", "moment"): "checkpoint"}
_PROFILE_FIELDS = {"keepers": "retained"}


def format_of(header: Any) -> int:
    """The format of a history that begins with this record. Raises ValueError if it is newer than
    this suite."""
    if not isinstance(header, Mapping):
        raise ValueError(f"expected a JSON object, found a {type(header).__name__}")
    number = int(header.get("format", 1))
    if number > FORMAT:
        raise ValueError(
            f"it has format {number}, and this suite reads up to {FORMAT}; use the suite that wrote it"
        )
    return number


def upgraded(data: Mapping[str, Any]) -> dict[str, Any]:
    """A record of format 1 in the present format."""
    record = str(data.get("record"))
    found = {_FIELDS.get((record, key), key): value for key, value in data.items()}
    found["record"] = _RECORDS.get(record, record)
    if record == "step":
        answer = data.get("answer") or {}
        found["answer"] = {_ANSWERS.get(key, key): value for key, value in answer.items()}
    if record == "header":
        scope = data.get("scope", "case")
        found["scope"] = _RECORDS.get(scope, scope)
        profile = data.get("profile") or {}
        found["profile"] = {_PROFILE_FIELDS.get(key, key): value for key, value in profile.items()}
        found["format"] = FORMAT
    return found
