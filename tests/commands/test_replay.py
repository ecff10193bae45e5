"""`replay`: every line a record, its bytes untouched, acknowledged before it is counted."""

import gzip
import io
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from rich.console import Console

from server.commands import replay as module
from server.commands.located import CommandError
from server.commands.replay import opened, replay
from server.settings import Settings

MATCH = b"5f0c6e1d-2a3b-4c5d-8e9f-0a1b2c3d4e5f"
LINES = [
    b'{"match_id":"%s","player_id":%d,"season_id":1,"points":1,"achieved_at":"2026-10-12T18:03:11Z"}'
    % (MATCH, at)
    for at in range(5)
]
ODD = [b"", b"not json\r", b"\xff\xfe", b'{"player_id":7}', b'{"player_id":"7"}', b"  "]


@pytest.fixture
def settings(kafka_bootstrap: str, topic: str) -> Settings:
    return Settings(kafka_bootstrap=kafka_bootstrap, topic=topic)


def _quiet() -> Console:
    return Console(file=io.StringIO())


async def _records(settings: Settings) -> list[tuple[bytes | None, bytes | None, int]]:
    consumer = AIOKafkaConsumer(bootstrap_servers=settings.kafka_bootstrap, enable_auto_commit=False)
    await consumer.start()
    places = [TopicPartition(settings.topic, number) for number in range(4)]
    consumer.assign(places)
    await consumer.seek_to_beginning(*places)
    found: list[tuple[bytes | None, bytes | None, int]] = []
    while batches := await consumer.getmany(*places, timeout_ms=500):
        found += [(it.key, it.value, it.partition) for batch in batches.values() for it in batch]
    await consumer.stop()
    return found


@pytest.mark.parametrize("name", ["results.jsonl", "results.jsonl.gz"])
async def test_every_line_is_a_record_with_its_bytes_untouched(
    settings: Settings, tmp_path: Path, name: str
) -> None:
    text = b"\n".join([*LINES, *ODD])
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)

    count = await replay(settings, path, None, _quiet())

    assert count == len(LINES) + len(ODD)
    assert sorted(value or b"" for _, value, _ in await _records(settings)) == sorted([*LINES, *ODD])


async def test_the_key_is_the_player_where_the_line_has_one(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"\n".join([LINES[4], b'{"player_id":7}', b"not json"]))

    await replay(settings, path, None, _quiet())

    assert {value: key for key, value, _ in await _records(settings)} == {
        LINES[4]: b"4",
        b'{"player_id":7}': b"7",
        b"not json": None,
    }


async def test_records_of_one_player_keep_the_order_of_the_file(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 3)
    lines = [b'{"player_id":7,"n":%d}' % at for at in range(200)]
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")

    assert await replay(settings, path, None, _quiet()) == 200
    assert [value for _, value, _ in await _records(settings)] == lines


def test_a_line_feed_at_the_end_is_no_further_record(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"a\n\nb\n")

    with opened(path) as (lines, position, size):
        assert list(lines) == [b"a", b"", b"b"]
        assert position() == size == 5


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("there-is-none.jsonl", None, "No such file"),
        ("plain.gz", b"not packed", "Not a gzipped file"),
        ("cut.gz", gzip.compress(b"x" * 100)[:-12], "end"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_clear_line(
    tmp_path: Path, name: str, content: bytes | None, reason: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(CommandError, match=reason) as raised, opened(path) as (lines, _, _):
        list(lines)

    assert str(path) in str(raised.value)
