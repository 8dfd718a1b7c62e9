"""Enums whose members say what they mean."""

import enum
from typing import Self


class Explained(enum.StrEnum):
    """A member is its name and its meaning, one sentence: `NAME = "name", "What it means."`."""

    meaning: str

    def __new__(cls, name: str, meaning: str) -> Self:
        """A member; its value is the name alone."""
        member = str.__new__(cls, name)
        member._value_ = name
        member.meaning = meaning
        return member
