"""Rows of integers out of PostgreSQL as numpy arrays: COPY's binary format, without an object a row.

Owns that format for columns that are bigint and never null: every row has the same length then. Pure.
Neighbour: `cut.py` streams whole seasons by it.
"""

import numpy as np

from server.core.member_order import Int64s

_SIGNATURE = b"PGCOPY\n\xff\r\n\0"
_HEADER = len(_SIGNATURE) + 8  # flags, and the length of an extension that there is none of
_TRAILER = b"\xff\xff"


class CopyRows:
    """Takes the stream of a COPY of so many columns as it comes, and gives back the rows that are whole."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        fields = [
            (f"{kind}{at}", f">i{size}") for at in range(columns) for kind, size in (("l", 4), ("v", 8))
        ]
        self._row = np.dtype([("count", ">i2"), *fields])
        self._rest = b""
        self._begun = False

    def feed(self, data: bytes) -> Int64s:
        """Return the rows that are whole by now, int64[rows, columns]; ValueError for another format."""
        data = self._rest + data
        if not self._begun:
            if len(data) < _HEADER:
                self._rest = data
                return np.zeros((0, self._columns), np.int64)
            if not data.startswith(_SIGNATURE):
                raise ValueError(f"this is no binary COPY: {data[:20]!r}")
            data, self._begun = data[_HEADER:], True
        whole = len(data) // self._row.itemsize
        rows = np.frombuffer(data, self._row, whole)
        self._rest = data[whole * self._row.itemsize :]
        if whole and (rows["count"] != self._columns).any():
            raise ValueError(f"a row has {rows['count'].min()} columns, not {self._columns}")
        return np.stack([rows[f"v{at}"].astype(np.int64) for at in range(self._columns)], axis=1)

    def end(self) -> None:
        """Check that the stream was whole. Raises ValueError."""
        if not self._begun or self._rest != _TRAILER:
            raise ValueError(f"the COPY breaks off, with {len(self._rest)} bytes of a row")
