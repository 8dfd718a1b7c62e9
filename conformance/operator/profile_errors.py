"""What is wrong with a profile, in one sentence: field, what was expected, what was found.

Translates pydantic's errors: its own texts span several lines, name Python types and link to its
docs.
"""

import difflib
import typing
from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

LONGEST_VALUE = 60
"""Characters of a found value that are shown."""

Location: TypeAlias = tuple[int | str, ...]

_EXPECTED = {
    "string_type": "must be text",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    "list_type": "must be a list",
    **dict.fromkeys(("dict_type", "model_type"), "must be a mapping"),
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
    unknown = [detail["loc"] for detail in details if detail["type"] == "extra_forbidden"]
    meant = {(*location[:-1], _closest(location, model)) for location in unknown}
    told = [d for d in details if d["type"] != "missing" or tuple(d["loc"]) not in meant]
    return "\n".join(_sentence(detail, model) for detail in told)


def _sentence(detail: ErrorDetails, model: type[BaseModel]) -> str:
    location, context = detail["loc"], detail.get("ctx") or {}
    field = ".".join(str(part) for part in location if part != "[key]")
    hint = ""
    match detail["type"]:
        case "extra_forbidden":
            return _unknown_field(location, model)
        case "missing":
            return f"the field `{field}` is missing{_described(location, model)}"
        case "value_error":
            found = "" if isinstance(detail["input"], Mapping) else _found(detail["input"])
            return f"{f'`{field}`: ' if field else ''}{context['error']}{found}"
        case "enum" | "literal_error":
            expected = f"must be one of {context['expected']}".replace("'", "")
        case kind if kind in _EXPECTED:
            plural = "" if context.get("min_length") == 1 else "s"
            expected = _EXPECTED[kind].format(**context, s=plural)
            if kind == "string_type" and isinstance(detail["input"], int | float):
                hint = " (put it in quotes)"
        case _:
            expected = detail["msg"].removeprefix("Input ")
            expected = expected[:1].lower() + expected[1:]
    return f"`{field}` {expected}{hint}{_found(detail['input'])}"


def _unknown_field(location: Location, model: type[BaseModel]) -> str:
    *owner, name = map(str, location)
    close = _closest(location, model)
    fields = sorted(_siblings(location, model))
    hint = f"did you mean `{close}`?" if close else f"expected one of {', '.join(fields)}"
    where = f"`{'.'.join(owner)}` has" if owner else "a profile has"
    return f"{where} no field `{name}`; {hint}"


def _closest(location: Location, model: type[BaseModel]) -> str:
    """The field that was probably meant; empty if none is close."""
    fields = sorted(_siblings(location, model))
    return next(iter(difflib.get_close_matches(str(location[-1]), fields, n=1)), "")


def _described(location: Location, model: type[BaseModel]) -> str:
    info = _siblings(location, model).get(str(location[-1]))
    annotation = info.annotation if info else None
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        required = [name for name, sub in annotation.model_fields.items() if sub.is_required()]
        return f"; expected a mapping with {', '.join(required)}" if required else ""
    return ""


def _found(value: Any) -> str:
    if value is None:
        return ", found nothing"
    if isinstance(value, Mapping):
        return f", found a mapping with {', '.join(map(str, value)) or 'nothing in it'}"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return f", found {text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + '…'}"


def _siblings(location: Location, model: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """The fields of the model that a location is in; list indices and mapping keys are stepped over."""
    current: type[BaseModel] | None = model
    for part in location[:-1]:
        if current is not None and isinstance(part, str) and part in current.model_fields:
            current = _inner_model(current.model_fields[part].annotation)
    return current.model_fields if current else {}


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_inner_model(argument) for argument in typing.get_args(annotation))
    return next(filter(None, inner), None)
