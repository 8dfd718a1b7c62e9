"""The share of the cases that a run takes: `--shard=i/n`."""

import hashlib
import re
from dataclasses import dataclass
from typing import Self

from conformance.model.errors import UsageError

_MOST = 1000
"""There are fewer cases than that, so a larger number is a typing error."""

# Without salt the hash spreads the shipped cases badly (one of 5 shards had 1.6 times its share). This
# one was the best of 12,000 for the first 83 cases; it stays, since another would move every case. A
# test bounds how uneven the shares may become.
_SALT = "3074"


@dataclass(frozen=True, slots=True)
class Shard:
    """Share `index` of `count`, counted from 1."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """The shard that `2/4` names. Raises UsageError."""
        match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text, re.ASCII)
        index, count = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= index <= count <= _MOST:
            raise UsageError(
                f"--shard={text} is no share; expected i/n with 1 <= i <= n <= {_MOST}, such as 2/4"
            )
        return cls(index, count)

    def owns(self, case: str) -> bool:
        """True if the case of that id (without its operator) is of this share."""
        return owner(case, self.count) == self.index

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


def owner(case: str, count: int) -> int:
    """Index of the share that a case is in. It depends on the id of the case alone, so a case that is
    added, removed or skipped moves no other."""
    digest = hashlib.sha256(f"{_SALT}:{case}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % count + 1
