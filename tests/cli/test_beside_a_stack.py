"""The commands beside a stack that runs: they find it, and do what they say."""

import asyncio
import json

from tests.cli.running import SEASON, Cli, Serving, total
from tests.waiting import until


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
    asyncio.run(until(lambda: total(serving, 14) == 300, within=20))


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
    asyncio.run(until(lambda: total(serving, 15) == 1, within=20))

    done = cli.run("season", "reset", "15", "--yes")

    assert done.returncode == 0, done.stderr
    asyncio.run(until(lambda: total(serving, 15) == 0, within=20))
    cli.run("replay", path)
    asyncio.run(until(lambda: total(serving, 15) == 1, within=20))


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
