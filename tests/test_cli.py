"""The command line as people use it: `serve` in a process of its own, and the commands that find it."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from server import __version__
from server.settings import Settings, table
from tests.waiting import until

ROOT = Path(__file__).resolve().parent.parent
SERVICE_NAMES = ("redis_url", "database_url", "kafka_bootstrap")
START_SECONDS = 60
SEASON = {
    "season_id": 12,
    "name": "Autumn",
    "starts_at": "2020-01-01T00:00:00Z",
    "ends_at": "2100-01-01T00:00:00Z",
}


@dataclass(slots=True)
class Cli:
    """The command line in one data folder, without any variable of the test's own environment."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RANKCAST_")}
        for name in ("REDIS_URL", "DATABASE_URL", "KAFKA_BOOTSTRAP_SERVERS"):
            kept.pop(name, None)
        return kept | {"RANKCAST_DATA_DIR": str(self.folder / "data"), "COLUMNS": "200", "TERM": "dumb"}

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "server", *arguments],
            cwd=ROOT,
            env=self.environment | variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def start(self, *arguments: str, **variables: str) -> "Serving":
        out, log = self.folder / "out.txt", self.folder / "log.txt"
        with out.open("w") as stdout, log.open("w") as stderr:
            process = subprocess.Popen(
                [sys.executable, "-m", "server", "serve", "--port", "0", *arguments],
                cwd=ROOT,
                env=self.environment | variables,
                stdout=stdout,
                stderr=stderr,
            )
        return Serving(process, out, log)

    def write(self, name: str, content: object) -> str:
        path = self.folder / name
        path.write_text(json.dumps(content))
        return str(path)


@dataclass(slots=True)
class Serving:
    """A `serve` that runs or has run."""

    process: "subprocess.Popen[bytes]"
    out: Path
    log: Path

    @property
    def url(self) -> str:
        found = re.search(r"Live board +(http://\S+)/", self.out.read_text())
        return found[1] if found else ""

    def listening(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return bool(self.url)

    def get(self, path: str) -> object:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer:
            return json.load(answer)

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send the signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)


@pytest.fixture
def cli(place: Path) -> Cli:
    """The command line in an empty folder."""
    return Cli(place)


@pytest.fixture(scope="module")
def stack(services_folder: Path) -> Iterator[tuple[Cli, Serving]]:
    """A stack without the demo that all tests of this file share."""
    folder = services_folder / "cli"
    folder.mkdir()
    folder.chmod(0o755)
    cli = Cli(folder)
    serving = cli.start(RANKCAST_DEMO="false")
    asyncio.run(until(serving.listening, within=START_SECONDS))
    yield cli, serving
    assert serving.end() == 0, serving.log.read_text()


def _family(process: "subprocess.Popen[bytes]") -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


# -- help and mistakes


@pytest.mark.parametrize(
    "command",
    [
        "",
        "serve",
        "season",
        "season create",
        "season reset",
        "replay",
        "names",
        "rebuild",
        "doctor",
        "settings",
    ],
)
def test_every_command_explains_itself(cli: Cli, command: str) -> None:
    done = cli.run(*command.split(), "--help")

    assert done.returncode == 0
    assert "Usage:" in done.stdout
    assert len(done.stdout.splitlines()) > 8


def test_the_version_is_told(cli: Cli) -> None:
    assert cli.run("--version").stdout == f"rankcast {__version__}\n"


def test_the_settings_are_told_as_the_readme_has_them(cli: Cli) -> None:
    assert cli.run("settings").stdout.strip() == table()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["serve", "--roles", "web,cook"], 2, "there is no role 'cook'"),
        (["serve", "--roles", ","], 2, "no role is named"),
        (["season", "list"], 1, "DATABASE_URL"),
        (["season", "create", "there-is-none.json"], 1, "DATABASE_URL and REDIS_URL"),
        (["replay", "x"], 1, "KAFKA_BOOTSTRAP_SERVERS"),
        (["doctor"], 1, "rankcast serve"),
    ],
)
def test_a_mistake_is_one_line_with_its_remedy(cli: Cli, arguments: list[str], code: int, told: str) -> None:
    done = cli.run(*arguments)

    assert done.returncode == code
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_variable_that_makes_no_sense_is_one_line(cli: Cli) -> None:
    done = cli.run("serve", RANKCAST_PORT="eighty")

    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "RANKCAST_PORT is 'eighty'" in done.stderr


def test_a_service_that_is_away_is_one_line(cli: Cli) -> None:
    done = cli.run("season", "list", DATABASE_URL="postgresql://127.0.0.1:1/x")

    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "PostgreSQL" in done.stderr


# -- a running stack


def test_the_addresses_and_the_key_are_printed(stack: tuple[Cli, Serving]) -> None:
    _, serving = stack
    told = serving.out.read_text()

    assert {"Live board", "Overlay", "API", "API key"} <= {
        line.strip().split("   ")[0] for line in told.splitlines() if line.startswith("  ")
    }
    assert f"{serving.url}/overlay" in told
    assert f"{serving.url}/docs" in told


def test_a_season_can_be_subscribed_to_when_create_returns(stack: tuple[Cli, Serving]) -> None:
    cli, serving = stack

    done = cli.run("season", "create", cli.write("season.json", SEASON))

    assert done.returncode == 0, done.stderr
    top = serving.get("/seasons/12/leaderboard/top")
    assert isinstance(top, dict)
    assert top["epoch"] is not None


def test_the_same_definition_again_is_fine_and_another_one_is_refused_with_the_difference(
    stack: tuple[Cli, Serving],
) -> None:
    cli, _ = stack
    path = cli.write("season13.json", SEASON | {"season_id": 13})
    cli.run("season", "create", path)

    again = cli.run("season", "create", path)
    other = cli.run(
        "season", "create", cli.write("other.json", SEASON | {"season_id": 13, "operator": "sum"})
    )

    assert again.returncode == 0
    assert "was there already" in again.stdout
    assert other.returncode == 1
    assert "operator" in other.stderr
    assert len(other.stderr.splitlines()) == 1


def test_a_replay_ends_with_all_records_acknowledged_and_they_are_on_the_board(
    stack: tuple[Cli, Serving],
) -> None:
    cli, serving = stack
    cli.run("season", "create", cli.write("season14.json", SEASON | {"season_id": 14}))
    lines = [
        {
            "match_id": f"00000000-0000-4000-8000-{player:012d}",
            "player_id": player,
            "season_id": 14,
            "points": player,
            "achieved_at": "2024-05-01T00:00:00Z",
        }
        for player in range(1, 301)
    ]
    path = cli.folder / "results.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\nnot json\n")

    done = cli.run("replay", str(path))

    assert done.stdout.startswith("302 records acknowledged")
    asyncio.run(until(lambda: _total(serving, 14) == 300, within=20))


def test_a_reset_season_is_empty_and_takes_the_same_results_again(stack: tuple[Cli, Serving]) -> None:
    cli, serving = stack
    cli.run("season", "create", cli.write("season15.json", SEASON | {"season_id": 15}))
    line = {
        "match_id": "00000000-0000-4000-8000-000000000001",
        "player_id": 1,
        "season_id": 15,
        "points": 5,
        "achieved_at": "2024-05-01T00:00:00Z",
    }
    path = cli.write("one.jsonl", line)
    cli.run("replay", path)
    asyncio.run(until(lambda: _total(serving, 15) == 1, within=20))

    done = cli.run("season", "reset", "15", "--yes")

    assert done.returncode == 0, done.stderr
    asyncio.run(until(lambda: _total(serving, 15) == 0, within=20))
    cli.run("replay", path)
    asyncio.run(until(lambda: _total(serving, 15) == 1, within=20))


def test_seasons_are_listed_and_shown_as_create_takes_them(stack: tuple[Cli, Serving]) -> None:
    cli, _ = stack
    cli.run("season", "create", cli.write("season16.json", SEASON | {"season_id": 16, "name": "Winter"}))

    shown = cli.run("season", "show", "16")

    assert "Winter" in cli.run("season", "list").stdout
    assert cli.run("season", "create", cli.write("shown.json", json.loads(shown.stdout))).returncode == 0


def test_a_board_is_rebuilt_by_command(stack: tuple[Cli, Serving]) -> None:
    cli, _ = stack
    cli.run("season", "create", cli.write("season17.json", SEASON | {"season_id": 17}))

    done = cli.run("rebuild", "17")

    assert done.returncode == 0, done.stderr
    assert "board s17 rebuilt" in done.stdout


def test_names_are_saved_or_the_first_bad_one_is_told(stack: tuple[Cli, Serving]) -> None:
    cli, _ = stack

    good = cli.run("names", cli.write("names.json", {"1": "Ada", "-2": "Grace"}))
    bad = cli.run("names", cli.write("bad.json", {"1": "Ada", "02": "Bob"}))

    assert good.stdout == "2 names saved\n"
    assert (bad.returncode, len(bad.stderr.splitlines())) == (1, 1)
    assert "02" in bad.stderr


def test_the_doctor_finds_nothing_wrong_with_an_embedded_stack(stack: tuple[Cli, Serving]) -> None:
    cli, _ = stack

    done = cli.run("doctor")

    assert done.returncode == 0, done.stdout
    assert "Nothing is wrong." in done.stdout


def test_a_second_stack_in_the_folder_says_where_the_first_is(stack: tuple[Cli, Serving]) -> None:
    cli, serving = stack

    done = cli.run("serve", "--port", "0")

    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert serving.url in done.stderr


def test_a_port_that_is_taken_is_one_line(stack: tuple[Cli, Serving], cli: Cli) -> None:
    _, serving = stack

    done = cli.run("serve", "--port", serving.url.rsplit(":", 1)[1])

    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "RANKCAST_PORT" in done.stderr


def _total(serving: Serving, season: int) -> int:
    top = serving.get(f"/seasons/{season}/leaderboard/top")
    assert isinstance(top, dict)
    return int(top["total"])


# -- from start to stop


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_everything_with_code_0_and_the_next_run_finds_its_board(
    cli: Cli, number: signal.Signals
) -> None:
    serving = cli.start(RANKCAST_DEMO_SPEED="25")
    await until(serving.listening, within=START_SECONDS)
    await until(lambda: _demo_total(serving) > 20, within=30)
    family = _family(serving.process)

    code = await asyncio.to_thread(serving.end, number)

    assert code == 0, serving.log.read_text()
    assert "Traceback" not in serving.log.read_text()
    assert [process for process in family if process.is_running()] == []
    assert not (cli.folder / "data" / "run.json").exists()

    again = cli.start(RANKCAST_DEMO="false")
    await until(again.listening, within=START_SECONDS)
    assert _demo_total(again) > 20
    assert await asyncio.to_thread(again.end, number) == 0


@pytest.mark.parametrize("seconds", [0.3, 1.0, 1.8])
async def test_a_signal_during_the_start_stops_everything_too(cli: Cli, seconds: float) -> None:
    serving = cli.start()
    await asyncio.sleep(seconds)  # whichever part of the start that is on this machine

    code = await asyncio.to_thread(serving.end, signal.SIGTERM)

    assert code in (0, -signal.SIGTERM)  # the latter before Python could take the signal
    assert "Traceback" not in serving.log.read_text()
    assert [it for it in psutil.process_iter() if _works_in(it, cli.folder)] == []


async def test_an_embedded_service_that_dies_takes_the_process_down_with_one_line(cli: Cli) -> None:
    serving = cli.start(RANKCAST_DEMO="false", RANKCAST_LOG_LEVEL="error")
    await until(serving.listening, within=START_SECONDS)
    [valkey] = [it for it in _family(serving.process) if "valkey" in it.name()]

    valkey.kill()
    code = await asyncio.to_thread(serving.process.wait, 60)

    assert code == 1
    assert "Valkey ended by itself" in serving.log.read_text().splitlines()[-1]


async def test_the_demo_goes_on_where_it_stopped_and_counts_nothing_twice(cli: Cli) -> None:
    first = cli.start(RANKCAST_DEMO_SPEED="100")
    await until(first.listening, within=START_SECONDS)
    await until(lambda: _demo_total(first) > 100, within=60)
    await asyncio.to_thread(first.end)

    second = cli.start(RANKCAST_DEMO_SPEED="100000")
    await until(second.listening, within=START_SECONDS)
    await until(lambda: "demo_finished" in second.log.read_text(), within=120)
    await until(lambda: _demo_goals(second) == _all_goals(), within=60)
    await asyncio.to_thread(second.end)

    assert "start=0 " not in second.log.read_text()


def _demo_top(serving: Serving) -> dict[str, object]:
    try:
        top = serving.get("/seasons/1/leaderboard/top?limit=1000")
    except OSError:  # no such season yet
        return {"total": 0, "entries": []}
    assert isinstance(top, dict)
    return top


def _demo_total(serving: Serving) -> int:
    return int(str(_demo_top(serving)["total"]))


def _demo_goals(serving: Serving) -> int:
    entries = _demo_top(serving)["entries"]
    assert isinstance(entries, list)
    return sum(entry["points"] for entry in entries)


def _all_goals() -> int:
    from server.demo.history import load_results  # noqa: PLC0415  only this test needs all of it

    return sum(result.points for result in load_results())


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return Path(process.cwd()).is_relative_to(folder)
    except psutil.Error:
        return False


def test_only_a_broker_of_ours_is_read_without_a_group_and_made_to_look_often() -> None:
    from server.commands.serve import for_own_broker  # noqa: PLC0415

    def read(settings: Settings, named: Settings) -> tuple[bool, int]:
        made = for_own_broker(settings, named)
        return made.consumer_groups, made.fetch_wait_ms

    asked = Settings(consumer_groups=True, fetch_wait_ms=50)
    assert read(Settings(kafka_bootstrap="127.0.0.1:1"), Settings()) == (False, 20)
    assert read(Settings(), Settings(kafka_bootstrap="kafka:9092")) == (True, 100)
    assert read(asked, asked) == (True, 50)


def test_the_demo_leaves_other_peoples_kafka_alone_unless_asked_for() -> None:
    from server.commands.serve import plays_demo  # noqa: PLC0415

    roles = frozenset({"web"})
    assert plays_demo(Settings(), roles)
    assert not plays_demo(Settings(kafka_bootstrap="kafka:9092"), roles)
    assert plays_demo(Settings(kafka_bootstrap="kafka:9092", demo=True), roles)
    assert not plays_demo(Settings(demo=False), roles)
    assert not plays_demo(Settings(), frozenset({"ingest"}))
