"""Names: what is taken, PostgreSQL, Redis and UTF-8 hold unchanged (cases C6, E12)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.core.names import MAX_NAME_LENGTH, clean_name
from server.core.refusals import REFUSALS, Refusal


@pytest.mark.parametrize(
    "name",
    [
        "Ada",
        "Curaçao",
        "<img onerror=alert(1)>",
        '"&amp;',
        "مرحبا",
        "👩‍👩‍👧",
        "a\u202eb",
        "日本",
        "x" * MAX_NAME_LENGTH,
        "-",
    ],
)
def test_a_name_is_taken_as_it_is(name: str) -> None:
    assert clean_name(name) == name


def test_white_space_around_a_name_is_left_out() -> None:
    assert clean_name("  Ada Lovelace\u3000") == "Ada Lovelace"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("a\u0000b", "name_control"),
        ("a\nb", "name_control"),
        ("a\u2028b", "name_control"),
        ("\ud800", "name_surrogate"),
        ("", "name_empty"),
        ("   \u00a0", "name_empty"),
        ("\u200b\u200d", "name_empty"),
        ("x" * (MAX_NAME_LENGTH + 1), "name_too_long"),
        ("x" * 10_000, "name_too_long"),
        (b"Ada", "bad_name"),
        (None, "bad_name"),
        (42, "bad_name"),
    ],
)
def test_a_name_that_cannot_be_shown_is_refused(value: object, code: str) -> None:
    refusal = clean_name(value)
    assert isinstance(refusal, Refusal)
    assert refusal.code == code


@given(st.text(st.characters()))
def test_every_text_is_taken_or_refused_and_what_is_taken_is_plain(text: str) -> None:
    name = clean_name(text)
    if isinstance(name, Refusal):
        assert name.code in REFUSALS
    else:
        assert clean_name(name) == name
        assert 0 < len(name) <= MAX_NAME_LENGTH
        assert "\0" not in name.encode().decode()
