"""Help and mistakes: each is told in one line with its remedy."""

import pytest

from server import __version__
from server.settings import table
from tests.cli.running import Cli


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
