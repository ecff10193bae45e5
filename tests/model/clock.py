"""The machine's time: stands still unless the schedule moves it, the same for all processes and services.

Owns: an instant, and how it looks as the module `time`. `services.py` shows it to Redis and PostgreSQL.
"""

import time
from typing import Any

BEGINS_S = 1_780_000_000  # in May 2026


class Clock:
    """Takes the place of the module `time` in the server's modules."""

    def __init__(self) -> None:
        self.now_s = BEGINS_S

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def time(self) -> float:
        return float(self.now_s)

    def monotonic(self) -> float:
        return float(self.now_s)

    def time_ns(self) -> int:
        return self.now_s * 1_000_000_000
