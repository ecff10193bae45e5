"""`rankcast doctor`: what is wrong with the services, and what to do about each finding.

Owns the table and its order; the checks of each service are in `doctor_redis.py`, `doctor_postgres.py` and
`doctor_kafka.py`. Never changes anything.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import Enum

from rich.console import Console
from rich.text import Text

from server.settings import Settings

CHECK_SECONDS = 15.0


class Level(Enum):
    """How a finding is meant: `WRONG` makes the exit code 1."""

    GOOD = "ok"
    ADVICE = "advice"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what it is, and what to do when it is not good."""

    level: Level
    part: str
    text: str
    remedy: str = ""


def good(part: str, text: str) -> Finding:
    """It is as it should be."""
    return Finding(Level.GOOD, part, text)


def advice(part: str, text: str, remedy: str) -> Finding:
    """It works, and could be better."""
    return Finding(Level.ADVICE, part, text, remedy)


def wrong(part: str, text: str, remedy: str) -> Finding:
    """It has to be changed."""
    return Finding(Level.WRONG, part, text, remedy)


def clock_finding(part: str, ahead_s: float, settings: Settings) -> Finding:
    """Whether this machine's clock, so many seconds ahead of the part's, agrees with it."""
    if abs(ahead_s) <= settings.clock_tolerance_s:
        return good(part, "its clock agrees with this machine's")
    return wrong(
        part,
        f"this machine's clock is {abs(ahead_s):.1f} s {'ahead of' if ahead_s > 0 else 'behind'} its clock",
        "let both be set by NTP; no board is wrong for it, yet ages, tokens and the edges of seasons are",
    )


Examination = Callable[[Settings], Awaitable[list[Finding]]]


async def examine(settings: Settings, parts: Iterable[tuple[str, str, Examination]]) -> list[Finding]:
    """Every finding, part by part; `parts` are names, what names the service, and its examination."""
    rounds = await asyncio.gather(*(_examine(settings, *part) for part in parts))
    return [finding for findings in rounds for finding in findings]


async def _examine(settings: Settings, part: str, variable: str, examination: Examination) -> list[Finding]:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await examination(settings)
    except TimeoutError:
        return [
            wrong(part, f"no answer within {CHECK_SECONDS:g} s", f"is {variable} right, and the service up?")
        ]
    except Exception as error:  # each client library has its own; all mean that the service cannot be used
        text = str(error) or type(error).__name__
        return [wrong(part, f"cannot be asked: {text}", f"is {variable} right, and the service up?")]


def show(findings: list[Finding], console: Console) -> bool:
    """Print the findings; whether nothing is wrong."""
    marks = {Level.GOOD: ("✓", "green"), Level.ADVICE: ("!", "yellow"), Level.WRONG: ("✗", "red")}
    for finding in findings:
        mark, style = marks[finding.level]
        console.print(Text.assemble((f"{mark} ", style), (f"{finding.part:<11}", "bold"), finding.text))
        if finding.remedy:
            console.print(Text(f"             → {finding.remedy}"))
    bad = sum(finding.level is Level.WRONG for finding in findings)
    console.print(f"{bad} of {len(findings)} findings are wrong." if bad else "Nothing is wrong.")
    return bad == 0
