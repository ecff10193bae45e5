"""What `serve` makes of settings: whose broker it is, and whether the demo is played."""

from server.commands.serve import for_own_broker, plays_demo
from server.settings import Settings


def test_only_a_broker_of_ours_is_read_without_a_group_and_made_to_look_often() -> None:
    def read(settings: Settings, named: Settings) -> tuple[bool, int]:
        made = for_own_broker(settings, named)
        return made.consumer_groups, made.fetch_wait_ms

    asked = Settings(consumer_groups=True, fetch_wait_ms=50)
    assert read(Settings(kafka_bootstrap="127.0.0.1:1"), Settings()) == (False, 20)
    assert read(Settings(), Settings(kafka_bootstrap="kafka:9092")) == (True, 100)
    assert read(asked, asked) == (True, 50)


def test_the_demo_leaves_other_peoples_kafka_alone_unless_asked_for() -> None:
    roles = frozenset({"web"})
    assert plays_demo(Settings(), roles)
    assert not plays_demo(Settings(kafka_bootstrap="kafka:9092"), roles)
    assert plays_demo(Settings(kafka_bootstrap="kafka:9092", demo=True), roles)
    assert not plays_demo(Settings(demo=False), roles)
    assert not plays_demo(Settings(), frozenset({"ingest"}))
