"""Random inputs, some hundred of each kind: no traceback, no 500, no hang, memory flat.

`tests/faults/test_random_inputs.py` has ten thousand of each.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from server.embedded.postgres import Postgres
from server.embedded.tansu import Tansu
from server.embedded.valkey import Valkey
from tests.wild.arguments import wild_calls
from tests.wild.harmless import pieces_do_no_harm, records_do_no_harm, requests_do_no_harm
from tests.wild.lines import wild_pieces
from tests.wild.parsers import all_of
from tests.wild.process import Wild, wild_process
from tests.wild.records import wild_records
from tests.wild.requests import wild_requests
from tests.wild.shell import call_of_a_process_does_no_harm, calls_do_no_harm, nowhere

__all__ = ["nowhere"]  # a fixture

COUNT = 600
FEW = 5  # processes: each takes a second

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wild(
    services_folder: Path, valkey: Valkey, postgres: Postgres, kafka: Tansu
) -> AsyncIterator[Wild]:
    async with wild_process(services_folder, valkey, postgres, kafka) as one:
        yield one


async def test_random_records_are_taken_or_refused_by_both_roles_alike(wild: Wild) -> None:
    await records_do_no_harm(wild, wild_records(COUNT))


async def test_random_requests_are_answered_and_break_nothing(wild: Wild) -> None:
    await requests_do_no_harm(wild, wild_requests(COUNT))


async def test_random_frames_end_lines_by_the_codes_of_the_table_and_touch_nobody_else(wild: Wild) -> None:
    await pieces_do_no_harm(wild, wild_pieces(COUNT))


async def test_random_bytes_make_no_parser_raise() -> None:
    for data in [record.value or b"" for record in wild_records(COUNT)] + [
        it.data for it in wild_pieces(COUNT)
    ]:
        all_of(data)


@pytest.mark.usefixtures("nowhere")
async def test_random_calls_of_the_command_line_end_with_one_line_at_worst(tmp_path: Path) -> None:
    codes = await asyncio.to_thread(calls_do_no_harm, wild_calls(COUNT), tmp_path / "file")
    assert codes.keys() == {0, 1, 2}


async def test_so_do_some_as_processes_of_their_own(tmp_path: Path) -> None:
    for call in wild_calls(400)[:FEW]:
        await asyncio.to_thread(call_of_a_process_does_no_harm, call, tmp_path / "file")
