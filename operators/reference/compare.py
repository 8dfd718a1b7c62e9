"""Is a live object already what is wanted? The server's defaults and spellings must not matter."""

import re
from decimal import Decimal
from typing import Any

_QUANTITY = re.compile(r"([+-]?[0-9]+(?:\.[0-9]*)?|[+-]?\.[0-9]+)([a-zA-Z]*)")
_UNITS = {"n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"), "": Decimal(1)}
_UNITS |= {unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)}
_UNITS |= {f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)}


def covers(live: Any, wanted: Any) -> bool:
    """True if everything wanted is there; what the live value has beyond it is the server's.

    Empty values may be absent (the API omits them), lists must agree in length and order, and
    two spellings of one resource quantity (``1000m``, ``1``) are equal.
    """
    if isinstance(wanted, dict):
        if not isinstance(live, dict):
            return live is None and not wanted
        return all(covers(live.get(key), value) for key, value in wanted.items())
    if isinstance(wanted, list):
        if not isinstance(live, list):
            return live is None and not wanted
        return len(live) == len(wanted) and all(map(covers, live, wanted))
    if live == wanted or (live is None and not wanted):
        return True
    return _same_quantity(live, wanted)


def _same_quantity(first: Any, second: Any) -> bool:
    left, right = _quantity(first), _quantity(second)
    return left is not None and left == right


def _quantity(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    match = _QUANTITY.fullmatch(str(value))
    if match is None or match[2] not in _UNITS:
        return None
    return Decimal(match[1]) * _UNITS[match[2]]
