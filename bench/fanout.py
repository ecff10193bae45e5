"""What a frame to a viewer costs the server, and what an idle viewer takes of its memory.

Owns the measurement: four servers send to the same number of sockets at the same tick, each in a process of
its own; CPU is that process's, user and system. Neighbours: `senders.py` are the servers, `python -m
bench.fanout` runs it alone.
"""

import asyncio
import contextlib
import gc
import multiprocessing
import resource
import select
import socket
import time
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

import uvloop

from bench.report import Say, Table, progress, spread
from bench.senders import REQUEST, SUBSCRIBE, Sender, sender_of

SOCKETS, TICK_S, SECONDS, RUNS = 2_000, 0.1, 3.0, 3
IDLE_SOCKETS = 5_000


class Cost(NamedTuple):
    """What one run took: messages, CPU seconds of the server process, bytes of a message."""

    messages: int
    cpu_s: float
    size: float


# -- the servers, each in a process of its own


def serve(kind: str, size: int, pipe: Connection) -> None:
    """Run one server; answer the pipe: `rss`, `count`, `run` (a Cost), `end`."""

    async def work() -> None:
        loop = asyncio.get_running_loop()
        number = 0
        async with sender_of(kind, size) as sender:
            pipe.send(sender.port)
            while True:
                order = await loop.run_in_executor(None, pipe.recv)
                if order == "end":
                    return
                if order == "count":
                    pipe.send(sender.viewers())
                elif order == "rss":
                    gc.collect()
                    pipe.send(_rss())
                else:
                    pipe.send(await _run(sender, number))
                    number += int(SECONDS / TICK_S)

    uvloop.run(work())


async def _run(sender: Sender, first: int) -> Cost:
    loop = asyncio.get_running_loop()
    (sent, size), used, begun = sender.sent(), _cpu(), loop.time()
    for number in range(int(SECONDS / TICK_S)):
        await sender.tick(first + number)
        await asyncio.sleep(max(0.0, begun + (number + 1) * TICK_S - loop.time()))
    used = _cpu() - used
    messages = sender.sent()[0] - sent
    return Cost(int(messages), used, (sender.sent()[1] - size) / max(messages, 1))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _rss() -> int:
    with open("/proc/self/statm") as file:  # noqa: PTH123  /proc is no place for pathlib
        return int(file.read().split()[1]) * resource.getpagesize()


# -- the viewers, in another process


def drain(port: int, count: int, pipe: Connection) -> None:
    """Open `count` viewers, then read and forget whatever comes until the pipe says anything."""
    poll, lines = select.epoll(), {}
    for _ in range(count):
        line = socket.create_connection(("127.0.0.1", port), timeout=10)
        line.sendall(REQUEST)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += line.recv(65_536)
        line.sendall(bytes((0x81, 0x80 | len(SUBSCRIBE), 0, 0, 0, 0)) + SUBSCRIBE)  # masked with zeros
        line.setblocking(False)
        lines[line.fileno()] = line
        poll.register(line, select.EPOLLIN)
    pipe.send("ready")
    while not pipe.poll():
        for number, _ in poll.poll(0.05):
            with contextlib.suppress(BlockingIOError, ConnectionError):
                lines[number].recv(262_144)


# -- the benchmark

_context = multiprocessing.get_context("spawn")


class Pair:
    """One server with its viewers."""

    def __init__(self, kind: str, size: int, count: int) -> None:
        self.server, theirs = _context.Pipe()
        self._processes = [_context.Process(target=serve, args=(kind, size, theirs), daemon=True)]
        self._processes[0].start()
        port = self.server.recv()
        self.rss_before = self.ask("rss")
        self._viewers, theirs = _context.Pipe()
        self._processes.append(_context.Process(target=drain, args=(port, count, theirs), daemon=True))
        self._processes[1].start()
        self._viewers.recv()
        while self.ask("count") < count:
            time.sleep(0.05)

    def ask(self, order: str) -> Any:
        """Give the server an order and return its answer."""
        self.server.send(order)
        return self.server.recv()

    def end(self) -> None:
        """End both processes."""
        self._viewers.send("end")
        self.server.send("end")
        for process in self._processes:
            process.join(10)
            process.kill()


KINDS = {
    "bare": "bare `write(2)`",
    "rankcast": "Rankcast, everything on",
    "prepared": "uvicorn's class, prepared bytes by `transport.write`",
    "text": "Starlette `send_text`",
}


def run(quick: bool, say: Say) -> list[Table]:
    """Measure all servers in turns, and hand back the two tables."""
    runs, sockets, idle = (1, 200, 500) if quick else (RUNS, SOCKETS, IDLE_SOCKETS)
    return [_frames(runs, sockets, say), _memory(idle, say)]


def _frames(runs: int, sockets: int, say: Say) -> Table:
    say("finding the size of a frame")
    size = _frame_size()
    rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for number in range(runs):
        for kind, name in KINDS.items():
            say(f"run {number + 1} of {runs}: {name}")
            pair = Pair(kind, size, sockets)
            cost: Cost = pair.ask("run")
            pair.end()
            rates[kind].append(cost.messages / cost.cpu_s)
    table = Table(
        f"Frames to {sockets:,} viewers at a tick of {TICK_S * 1000:.0f} ms, {size:,} bytes each",
        ("", "messages per CPU second, median (least to most)", "microseconds each"),
    )
    for kind, name in KINDS.items():
        each = [1e6 / rate for rate in rates[kind]]
        table.add(name, spread(rates[kind]), spread(each, digits=1))
    table.notes.append(f"CPU of the server process, user and system; {runs} runs of {SECONDS:g} s, in turns.")
    return table


def _frame_size() -> int:
    pair = Pair("rankcast", 0, 1)
    cost: Cost = pair.ask("run")
    pair.end()
    return round(cost.size)


def _memory(sockets: int, say: Say) -> Table:
    table = Table(f"Memory of an idle viewer, {sockets:,} of them", ("", "bytes of the server process each"))
    for kind in ("rankcast", "text"):
        say(f"{sockets} idle viewers: {KINDS[kind]}")
        pair = Pair(kind, 100, sockets)
        table.add(KINDS[kind], f"{(pair.ask('rss') - pair.rss_before) / sockets:,.0f}")
        pair.end()
    table.notes.append("Growth of the resident set; what the kernel holds for a socket is not in it.")
    return table


if __name__ == "__main__":
    for made in run(quick=False, say=progress("fanout")):
        print(made.markdown(), end="\n\n")
