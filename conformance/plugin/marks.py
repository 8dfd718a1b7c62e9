"""How a case says what it is: its feature, its needs, and whether others can run beside it."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from conformance.model.features import Feature

MARK = "conformance_case"
_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseMark:
    """Declares a test function as a conformance case. Its docstring is the expected behaviour in one
    sentence. `feature` is its row in the verdict table.

    `disruptive`: it stops the operator or may make it spin, so it runs last, on a cluster of its own.
    `race`: it may end differently each time, so a known failure of it may be marked `sometimes`.
    `long`: it has several checkpoints or many graphs, so it starts before the others, which then
    need not wait for it at the end.
    """

    feature: str
    needs: Sequence[Feature] = ()
    disruptive: bool = False
    race: bool = False
    long: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs", tuple(self.needs))

    def __call__(self, function: _F) -> _F:
        """Decorate the function. Raises TypeError if it has no docstring, since a report would have
        nothing to say, and if it does not take `trial`, since nothing would be recorded."""
        name = function.__name__
        if not (function.__doc__ or "").strip():
            raise TypeError(f"case {name} has no docstring; say what is expected of it")
        if "trial" not in inspect.signature(function).parameters:
            raise TypeError(f"case {name} does not take `trial`, the handle of a case")
        decorated: _F = getattr(pytest.mark, MARK).with_args(self)(function)
        return decorated


case = CaseMark


def mark_of(item: pytest.Item) -> CaseMark | None:
    """The declaration of a collected item; None if it is no case."""
    mark = item.get_closest_marker(MARK)
    return None if mark is None else mark.args[0]


def title_of(item: pytest.Item) -> str:
    """The first paragraph of the docstring as one line."""
    text = getattr(item.obj, "__doc__", None) or ""  # type: ignore[attr-defined]  # Function has obj
    return " ".join(text.strip().split("\n\n")[0].split())


def case_id(item: pytest.Item) -> str:
    """A stable name: file and function without `test_`, and parameters without the operator."""
    stem = Path(item.path).stem.removeprefix("test_")
    name = getattr(item, "originalname", item.name).removeprefix("test_")
    callspec = getattr(item, "callspec", None)
    # pytest joins parameter ids by "-"; the operator's is the first, by our own parametrisation.
    parameters = list(callspec._idlist[1:]) if callspec else []
    return f"{stem}/{name}" + (f"[{'-'.join(parameters)}]" if parameters else "")
