"""Strict templates: every placeholder is known, every brace is meant."""

import pytest

from conformance.model.errors import UsageError
from conformance.operator.templates import fill


def test_placeholders_are_filled_wherever_they_stand() -> None:
    values = {"port_web": "9443", "dir": "/x"}
    assert fill("--a={dir}/y:{port_web}{port_web}", values, where="w") == "--a=/x/y:94439443"


def test_doubled_braces_are_literal() -> None:
    assert fill('{{"a": {b}}}', {"b": "1"}, where="w") == '{"a": 1}'


def test_filled_in_braces_are_not_filled_again() -> None:
    assert fill("{a}", {"a": "{b}", "b": "no"}, where="w") == "{b}"


def test_unknown_placeholder_names_itself_and_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        fill("x\n  {portt}", {"port": "1", "dir": "2"}, where="p.yaml: `install.ready`")
    assert str(caught.value) == (
        "p.yaml: `install.ready`: unknown placeholder {portt} in '{portt}'; known are dir, port"
    )


@pytest.mark.parametrize("template", ["{", "a}", "{A}", "{a.b}", "{a!r}", "{}", "{ a }"])
def test_single_brace_is_an_error(template: str) -> None:
    with pytest.raises(UsageError, match=r"a single `[{}]` in"):
        fill(template, {"a": "1"}, where="w")
