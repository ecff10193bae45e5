"""Players' names as people send them: an object of ids and names, all taken or none."""

from collections.abc import Mapping

from redis.asyncio import Redis

from server.archive.store import Archive
from server.core.exact_json import Fields, load_exact
from server.core.names import clean_name
from server.core.refusals import Refusal, shown
from server.core.results import player_id_from_text
from server.errors import RankcastError
from server.live.names import announce
from server.web.problems import BadItem, BadItemsError


async def save_names(archive: Archive, redis: Redis, names: Mapping[int, str]) -> None:
    """Store the names and tell every web process."""
    await archive.save_names(names)
    await announce(redis, names)


def parse_names(text: bytes) -> dict[int, str]:
    """The names of a JSON object `{id: name}`; raises RankcastError `bad_json`, BadItemsError `bad_names`."""
    found = load_exact(text)
    if isinstance(found, Refusal):
        raise RankcastError("bad_json", found.reason)
    if not isinstance(found, Fields):
        raise RankcastError("bad_json", f'{shown(found)} is no object; send {{"42": "Ada"}}')
    if found.twice is not None:
        raise RankcastError("bad_json", f"player {shown(found.twice)} is named twice")
    names: dict[int, str] = {}
    errors: list[BadItem] = []
    for key, value in found.items():
        player, name = player_id_from_text(key), clean_name(value)
        if isinstance(player, int) and isinstance(name, str):
            names[player] = name
            continue
        refusal = player if isinstance(player, Refusal) else name
        assert isinstance(refusal, Refusal)
        errors.append(BadItem(index=key[:64], code=refusal.code, reason=refusal.reason))
    if errors:
        raise BadItemsError(
            "bad_names", f"{len(errors)} of {len(found)} names are refused; none was saved", errors
        )
    return names
