"""Where a board stands in its log, and what its states are called.

Pure. Neighbours: `store.py` and `rebuilds.py` read it from Redis, ingest and the keeper compare it.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Applied:
    """How far a board has read: the number of its log, and the next offset by partition (none named: 0)."""

    log: int
    offsets: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def parse(cls, fields: Mapping[bytes | str, bytes | str]) -> "Applied | None":
        """What a board's applied HASH says, None where it names no log."""
        numbers = {text(name): int(value) for name, value in fields.items()}
        log = numbers.pop("log", None)
        return None if log is None else cls(log, {int(name): offset for name, offset in numbers.items()})


def new_epoch() -> str:
    """A name that no board had: 16 random hexadecimal digits."""
    return secrets.token_hex(8)


def text(value: bytes | str) -> str:
    """A reply's text, whether the client decodes or not."""
    return value if isinstance(value, str) else value.decode()
