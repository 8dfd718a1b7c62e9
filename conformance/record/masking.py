"""Secrets never reach the disk: masked in the recorder, before a line is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "<masked>"
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

# Each with a plain text that any match contains: looking for that first keeps the cost at nothing.
_PATTERNS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("eyJ", re.compile(r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"), MASK),  # a JWT, as tokens are
    ("earer ", re.compile(r"\b([Bb]earer )[A-Za-z0-9._~+/-]{8,}=*"), rf"\1{MASK}"),
    (
        "PRIVATE KEY",
        re.compile(
            r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----)", re.S
        ),
        rf"\1{MASK}\2",
    ),
)


def mask_object(obj: dict[str, Any]) -> dict[str, Any]:
    """The object itself, changed in place: a Secret keeps its keys and loses every value."""
    if obj.get("kind") != "Secret":
        return obj
    for part in ("data", "stringData"):
        if obj.get(part):
            obj[part] = dict.fromkeys(obj[part], MASK)
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    if _APPLIED in annotations:
        annotations[_APPLIED] = MASK
    return obj


def mask_nested(value: Any) -> Any:
    """A copy of plain data in which every Secret, however deep, is masked."""
    if isinstance(value, Mapping):
        return mask_object({key: mask_nested(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return [mask_nested(item) for item in value]
    return value


def mask_text(text: str) -> str:
    """Text without tokens and private keys, wherever they stand (a JSON line stays one)."""
    for mark, pattern, replacement in _PATTERNS:
        if mark in text:
            text = pattern.sub(replacement, text)
    return text
