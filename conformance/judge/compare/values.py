"""Values as the API stores them: defaults added, zero values left out, quantities in any unit."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

# The quantity suffixes of Kubernetes: decimal and binary multiples.
_FACTORS = {
    "m": Decimal("0.001"), "": Decimal(1), "k": Decimal(10) ** 3, "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9, "T": Decimal(10) ** 12, "Ki": Decimal(2) ** 10, "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30, "Ti": Decimal(2) ** 40,
}  # fmt: skip


def contains(wanted: Any, have: Any) -> bool:
    """True if everything in `wanted` is in `have`, which may say more (API defaults)."""
    if isinstance(wanted, Mapping):
        if not isinstance(have, Mapping):
            return not wanted and have is None
        return all(contains(value, have.get(key)) for key, value in wanted.items())
    if isinstance(wanted, (list, tuple)):
        if not isinstance(have, (list, tuple)) or len(wanted) > len(have):
            return not wanted and have is None
        return all(contains(w, h) for w, h in zip(wanted, have, strict=False))
    # The API leaves zero values out.
    left_out = not wanted and have is None
    return bool(wanted == have or left_out or quantity(wanted) == quantity(have))


def quantity(value: Any) -> Any:
    """A Kubernetes quantity as a number, so that `1000m` equals `1`; other values as they are."""
    if value is None or isinstance(value, bool):
        return value
    text = str(value)
    number = text.rstrip("mkMGTi")
    factor = _FACTORS.get(text[len(number) :])
    try:
        return text if factor is None else Decimal(number) * factor
    except InvalidOperation:
        return text
