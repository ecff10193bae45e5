"""A program that holds a stack and nothing else, for tests that kill it."""

import asyncio
import signal
import sys

from server.embedded.errors import EmbeddedError
from server.embedded.stack import running_stack
from server.settings import Settings


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def hold() -> None:
    """Start, say so, and wait to be cancelled by SIGTERM or SIGINT."""
    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    async with running_stack(Settings(), say):
        say("up")
        await asyncio.Event().wait()


def main() -> int:
    try:
        asyncio.run(hold())
    except asyncio.CancelledError:
        return 0
    except EmbeddedError as error:
        say(str(error))
        return 1
    return 2


if __name__ == "__main__":
    sys.exit(main())
