"""Secrets never reach the disk: masked in the recorder, before a line is written."""

import json
import re
from typing import Any

from pydantic_core import to_json

MASK = "<masked>"
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# The cluster's CA, which Kubernetes copies into every namespace: no secret, but a certificate in every
# published history that tells one cluster from another and nothing of the case.
_PUBLISHED_CA = ("ConfigMap", "kube-root-ca.crt")

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
    """The object itself, changed in place: a Secret keeps its keys and loses every value, and so does
    the ConfigMap with the cluster's CA."""
    metadata = obj.get("metadata") or {}
    if obj.get("kind") != "Secret" and (obj.get("kind"), metadata.get("name")) != _PUBLISHED_CA:
        return obj
    for part in ("data", "stringData"):
        if obj.get(part):
            obj[part] = dict.fromkeys(obj[part], MASK)
    annotations = metadata.get("annotations") or {}
    if _APPLIED in annotations:
        annotations[_APPLIED] = MASK
    return obj


def mask_text(text: str) -> str:
    """Text without tokens and private keys, wherever they stand (a JSON line stays one)."""
    for mark, pattern, replacement in _PATTERNS:
        if mark in text:
            text = pattern.sub(replacement, text)
    return text


def mask_line(line: bytes) -> bytes:
    """A JSON line in which every Secret, however deep, and all text is masked."""
    return mask_text(to_json(json.loads(line, object_hook=mask_object)).decode()).encode() + b"\n"
