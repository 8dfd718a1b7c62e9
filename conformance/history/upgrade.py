"""Histories of earlier formats, read as they would be written today, so that they can still be judged.

Format 1 (until 0.1) called a checkpoint a moment, a soak a standing, retained objects keepers,
and a superseded step moot.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FORMAT = 2
"""The format that is written. A header without a number is of format 1."""

_RECORDS = {"moment": "checkpoint", "standing": "soak"}
_ANSWERS = {"moot": "superseded"}
_FIELDS = {("tables", "moment"): "checkpoint"}
_PROFILE_FIELDS = {"keepers": "retained"}


def upgraded(data: Mapping[str, Any]) -> dict[str, Any]:
    """One record in the present format. Raises ValueError for a format that is newer than this."""
    record = str(data.get("record"))
    found = {_FIELDS.get((record, key), key): value for key, value in data.items()}
    found["record"] = _RECORDS.get(record, record)
    if record == "step":
        answer = found.get("answer") or {}
        found["answer"] = {_ANSWERS.get(key, key): value for key, value in answer.items()}
    if record == "header":
        _upgrade_header(found)
    return found


def _upgrade_header(header: dict[str, Any]) -> None:
    number = header.get("format", 1)
    if number > FORMAT:
        raise ValueError(
            f"it has format {number}, and this suite reads up to {FORMAT}; use the suite that wrote it"
        )
    if number == 1:
        header["scope"] = _RECORDS.get(header.get("scope", ""), header.get("scope", "case"))
        profile = header.get("profile") or {}
        header["profile"] = {_PROFILE_FIELDS.get(key, key): value for key, value in profile.items()}
    header["format"] = FORMAT
