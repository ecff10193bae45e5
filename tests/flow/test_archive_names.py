"""Players' names: kept as they are taken, and only changes are told (C6)."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.dictionaries(st.integers(-(2**63), 2**63 - 1), NAMES, max_size=5))
async def test_every_name_that_is_taken_is_kept_unchanged(archive: Archive, names: dict[int, str]) -> None:
    await archive.save_names(names)
    assert await archive.names(names) == names
