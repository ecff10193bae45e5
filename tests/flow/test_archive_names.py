"""Players' names: kept as they are taken, and only changes are told (C6)."""

import asyncpg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from server.archive.names import FIND
from server.archive.store import Archive
from server.core.names import clean_name

NAMES = (
    st.text(st.characters(), min_size=1, max_size=20)
    .map(clean_name)
    .filter(lambda name: isinstance(name, str))
)


async def test_saving_names_tells_whose_name_changed(archive: Archive) -> None:
    assert await archive.save_names({42: "Ada", -7: "Grace", 2**63 - 1: "Linus"}) == [-7, 42, 2**63 - 1]
    assert await archive.save_names({42: "Ada", -7: "Grace Hopper", 1: "Alan"}) == [-7, 1]
    assert await archive.names([42, -7, 5]) == {42: "Ada", -7: "Grace Hopper"}


async def test_saving_no_name_changes_nothing(archive: Archive) -> None:
    assert await archive.save_names({}) == []
    assert await archive.names([]) == {}


async def test_names_are_found_by_their_beginning_in_order_and_no_more_than_asked_for(
    archive: Archive,
) -> None:
    await archive.save_names(
        {1: "Ada", 2: "adam", 3: "Ádám", 4: "Adele", 5: "Bo", -6: "Ada", 7: "A%a", 8: "A_a"}
    )

    assert await archive.find_names("ada", 9) == {-6: "Ada", 1: "Ada", 2: "adam", 3: "Ádám"}
    assert list(await archive.find_names("AD", 3)) == [-6, 1, 2]
    assert await archive.find_names("a%", 9) == {7: "A%a"}
    assert await archive.find_names("a_", 9) == {8: "A_a"}
    assert await archive.find_names("c", 9) == {}


async def test_a_renamed_player_is_found_by_the_new_name_alone(archive: Archive) -> None:
    await archive.save_names({1: "Ada"})
    await archive.save_names({1: "Grace"})

    assert await archive.find_names("gra", 9) == {1: "Grace"}
    assert await archive.find_names("ada", 9) == {}


async def test_a_search_reads_a_range_of_the_index_and_not_the_table(
    archive: Archive, database_url: str
) -> None:
    await archive.save_names({player: f"Player {player}" for player in range(20_000)})
    connection = await asyncpg.connect(database_url)
    await connection.execute("ANALYZE players")
    await connection.execute("SET plan_cache_mode = force_generic_plan")
    await connection.execute(f"PREPARE search(text, text, int) AS {FIND}")
    rows = await connection.fetch("EXPLAIN EXECUTE search('player 1', 'player 2', 9)")
    plan = "\n".join(row[0] for row in rows)
    await connection.close()

    assert "Index Scan using players_search" in plan
    assert "Seq Scan" not in plan
    assert "Sort" not in plan


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.dictionaries(st.integers(-(2**63), 2**63 - 1), NAMES, max_size=5))
async def test_every_name_that_is_taken_is_kept_unchanged(archive: Archive, names: dict[int, str]) -> None:
    await archive.save_names(names)
    assert await archive.names(names) == names
