"""Every number that a verdict hangs on is a named bound with its reason, in model/bounds.py.

In the judge only 0, 1, -1 and 2 may stand as they are, as counts and indices, beside HTTP status codes
and numbers that shape a sentence. Every other number, and every numeric constant, is refused.
"""

import ast
from collections.abc import Iterator

import pytest

from conformance import paths

JUDGE = paths.root() / "conformance" / "judge"

ALLOWED: dict[tuple[str, float | None], str] = {
    ("compare/values.py", None): "Prefixes of Kubernetes quantities.",
    ("checks/foreign.py", 422): "The status code of a write that breaks a rule.",
    (
        "checks/parts/rates.py",
        1.0,
    ): "The sentence names how many requests are allowed in one second.",
}
"""Module below conformance/judge, and number (None: all of them) → why no verdict hangs on it."""


def numbers(code: str) -> list[tuple[int, float]]:
    """Line and value of each number in a module that should be a bound."""
    tree = ast.parse(code)
    harmless = {id(node) for node in _harmless(tree)}
    constants = {id(node) for node in _constants(tree)}
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in harmless:
            continue
        if isinstance(node.value, bool) or not isinstance(node.value, int | float):
            continue
        # A float is a time or a ratio, and a constant has a name, so it has a meaning.
        small = node.value in (0, 1, 2) and isinstance(node.value, int)
        if not (small and id(node) not in constants) and node.value != 0.0:
            found.append((node.lineno, node.value))
    return found


def _constants(tree: ast.Module) -> Iterator[ast.AST]:
    """Values that are given a name in a module or class."""
    classes = [node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    for body in (tree.body, *classes):
        for node in body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                yield node.value


def _harmless(tree: ast.Module) -> Iterator[ast.AST]:
    """Numbers in indices and slices; what an answer's `code` is compared with; the digits of `round`;
    and `most`, how many items a sentence lists before it says `and N more`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            yield from ast.walk(node.slice)
        elif isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            if any(isinstance(side, ast.Attribute) and side.attr == "code" for side in sides):
                yield from sides
        elif isinstance(node, ast.Call):
            yield from (keyword.value for keyword in node.keywords if keyword.arg == "most")
            if isinstance(node.func, ast.Name) and node.func.id == "round":
                yield from node.args[1:]
        elif isinstance(node, ast.arguments):
            for argument, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
                if argument.arg == "most" and default is not None:
                    yield default


def loose() -> list[tuple[str, int, float]]:
    return [
        (str(path.relative_to(JUDGE)), line, value)
        for path in sorted(JUDGE.rglob("*.py"))
        for line, value in numbers(path.read_text(encoding="utf-8"))
    ]


def test_no_verdict_hangs_on_a_number_without_a_name() -> None:
    assert [
        f"conformance/judge/{name}:{line}: {value!r}"
        for name, line, value in loose()
        if not ALLOWED.keys() & {(name, value), (name, None)}
    ] == [], "name it in conformance/model/bounds.py, with its reason"


def test_nothing_is_allowed_that_is_not_there() -> None:
    there = {key for name, _, value in loose() for key in ((name, value), (name, None))}
    assert ALLOWED.keys() <= there


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("x = y[3] + z[-4:] + len(a) - 1 and b == 2", []),
        ("f'{seconds:.1f} s'; x = True", []),
        ("def f(*, most=4): return join(a, most=3) + str(round(b, 3))", []),
        ("if 200 <= write.code < 300: pass", []),
        ("def f(wait=5): return wait > 0", [5]),
        ("LIMIT = 1", [1]),
        ("class A:\n    share: float = 0.5", [0.5]),
        ("x = y < 1.0 or y < 0.0", [1.0]),
    ],
)
def test_what_counts_as_a_number(code: str, found: list[float]) -> None:
    assert [value for _, value in numbers(code)] == found
