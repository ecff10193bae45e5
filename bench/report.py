"""What every benchmark hands back: a table of medians with their spread, as Markdown that the README takes.

Owns the form of figures and tables, and the line that tells how far a benchmark is. Measures nothing.
Neighbours: each benchmark's `run(quick, say)` makes tables; `__main__.py` prints them.
"""

import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

Say = Callable[[str], None]
"""Takes a few words on what is being done now."""


def spread(values: Sequence[float], unit: str = "", digits: int = 0) -> str:
    """The median of several runs, with the least and the most of them: "12,300/s (11,900 to 12,800)"."""
    middle = f"{median(values):,.{digits}f}{unit}"
    if len(values) == 1:
        return middle
    return f"{middle} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


@dataclass
class Table:
    """One table: the first column says what was measured, each other one holds figures as text."""

    title: str
    columns: Sequence[str] = ("", "median (least to most)")
    rows: list[Sequence[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, *cells: str) -> None:
        """Add a row."""
        self.rows.append((name, *cells))

    def markdown(self) -> str:
        """The table with its title and notes."""
        rule = ["---", *["---:"] * (len(self.columns) - 1)]
        lines = [f"**{self.title}**", ""]
        lines += [f"| {' | '.join(row)} |" for row in (self.columns, rule, *self.rows)]
        if self.notes:
            lines += ["", " ".join(self.notes)]
        return "\n".join(lines)


def machine() -> str:
    """What the figures were made on, in a line."""
    model = next((line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")), "")
    parts = [f"{len(os.sched_getaffinity(0))} cores", model or platform.machine(), platform.system()]
    return ", ".join([*parts, f"Python {platform.python_version()}"])


def _cpuinfo() -> list[str]:
    try:
        with open("/proc/cpuinfo") as file:  # noqa: PTH123  there is none outside of Linux
            return file.read().splitlines()
    except OSError:
        return []


def progress(name: str) -> Say:
    """A `say` for the benchmark of this name: one line that changes, or a line each where nobody watches."""
    live = sys.stderr.isatty()

    def say(text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{name}: {text}" if live else f"{name}: {text}\n")
        sys.stderr.flush()

    return say
