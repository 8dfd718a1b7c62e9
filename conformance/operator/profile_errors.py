"""What is wrong with a profile, in one sentence: field, what was expected, what was found.

Translates pydantic's errors: its own texts span several lines, name Python types and link to its
docs.
"""

from __future__ import annotations

import difflib
import typing
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

LONGEST_VALUE = 60
"""Characters of a found value that are shown."""

_EXPECTED = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "less_than_equal": "must be at most {le:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "greater_than": "must be more than {gt:g}",
    "string_pattern_mismatch": "must match {pattern}",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must not be empty",
    "too_short": "must have at least {min_length} item{s}",
}
"""Pydantic's type of an error → what was expected, with the values of its context."""


def complaint(error: ValidationError, model: type[BaseModel]) -> str:
    """A sentence, and a line, for each error that pydantic found."""
    details = error.errors(include_url=False)
    # A misspelled field usually also leaves a required one missing: the misspelling is the cause.
    details.sort(key=lambda detail: detail["type"] != "extra_forbidden")
    misspelled = {
        (*detail["loc"][:-1], _closest(detail["loc"], model))
        for detail in details
        if detail["type"] == "extra_forbidden"
    }
    told = [d for d in details if d["type"] != "missing" or tuple(d["loc"]) not in misspelled]
    return "\n".join(_sentence(detail, model) for detail in told)


def _sentence(detail: ErrorDetails, model: type[BaseModel]) -> str:
    location = detail["loc"]
    field = ".".join(str(part) for part in location if part != "[key]")
    kind, context = detail["type"], detail.get("ctx") or {}
    if kind == "extra_forbidden":
        return _unknown_field(location, model)
    if kind == "missing":
        return f"the field `{field}` is missing{_described(location, model)}"
    if kind == "value_error":
        found = "" if isinstance(detail["input"], Mapping) else _found(detail)
        return f"{f'`{field}`: ' if field else ''}{context['error']}{found}"
    if kind in ("enum", "literal_error"):
        choices = str(context["expected"]).replace("'", "")
        expected = f"must be one of {choices}"
    elif kind in _EXPECTED:
        expected = _EXPECTED[kind].format(
            **context, s="" if context.get("min_length") == 1 else "s"
        )
    else:
        expected = detail["msg"].removeprefix("Input ")
        expected = expected[:1].lower() + expected[1:]
    quoted = kind == "string_type" and isinstance(detail["input"], int | float)
    hint = " (put it in quotes)" if quoted else ""
    return f"`{field}` {expected}{hint}{_found(detail)}"


def _unknown_field(location: tuple[int | str, ...], model: type[BaseModel]) -> str:
    name = str(location[-1])
    owner = ".".join(str(part) for part in location[:-1])
    parent = _model_at(location[:-1], model)
    fields = sorted(parent.model_fields) if parent else []
    close = _closest(location, model)
    hint = f"did you mean `{close}`?" if close else f"expected one of {', '.join(fields)}"
    where = f"`{owner}` has" if owner else "a profile has"
    return f"{where} no field `{name}`; {hint}"


def _closest(location: tuple[int | str, ...], model: type[BaseModel]) -> str:
    """The field that was probably meant; empty if none is close."""
    parent = _model_at(location[:-1], model)
    fields = sorted(parent.model_fields) if parent else []
    return next(iter(difflib.get_close_matches(str(location[-1]), fields, n=1)), "")


def _described(location: tuple[int | str, ...], model: type[BaseModel]) -> str:
    parent = _model_at(location[:-1], model)
    info = parent.model_fields.get(str(location[-1])) if parent else None
    annotation = info.annotation if info else None
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        required = [name for name, sub in annotation.model_fields.items() if sub.is_required()]
        return f"; expected a mapping with {', '.join(required)}" if required else ""
    return ""


def _found(detail: ErrorDetails) -> str:
    value = detail["input"]
    if value is None:
        return ", found nothing"
    if isinstance(value, Mapping):
        return f", found a mapping with {', '.join(map(str, value)) or 'nothing in it'}"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return f", found {text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + '…'}"


def _model_at(location: tuple[int | str, ...], model: type[BaseModel]) -> type[BaseModel] | None:
    """The model that stands at a location; list indices and mapping keys are stepped over."""
    current: type[BaseModel] | None = model
    for part in location:
        if current is not None and isinstance(part, str) and part in current.model_fields:
            current = _inner_model(current.model_fields[part].annotation)
    return current


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in typing.get_args(annotation):
        found = _inner_model(argument)
        if found is not None:
            return found
    return None
