"""Names: what is taken, PostgreSQL, Redis and UTF-8 hold unchanged (cases C6, E12)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.core.names import MAX_NAME_LENGTH, after_prefix, clean_name, search_key
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


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("São Tomé and Príncipe", "sao tome"),
        ("Ada  Lovelace", "ADA LOVE"),
        ("Curaçao", "curac"),
        ("STRASSE", "straß"),
        ("\uff21\uff22\uff23", "abc"),
        ("مُحَمَّد", "محمد"),
        ("日本", "日"),
        ("한국", "하"),
        ("İstanbul", "istan"),
    ],
)
def test_a_name_is_found_without_case_and_accents(name: str, beginning: str) -> None:
    assert search_key(name).startswith(search_key(beginning))


@given(st.text(min_size=1).filter(lambda text: not isinstance(clean_name(text), Refusal)), st.data())
def test_a_name_is_found_by_each_of_its_beginnings_in_characters_of_their_own(
    name: str, data: st.DataObject
) -> None:
    letters = data.draw(st.text("abcäöüßÅé日本 🇧🇷", min_size=1).filter(lambda text: text.strip()))
    cut = data.draw(st.integers(1, len(letters)))

    assert search_key(letters + name).startswith(search_key(letters[:cut]).rstrip())


@given(st.text(), st.text(min_size=1))
def test_all_that_begin_with_a_prefix_and_nothing_else_lie_below_the_text_after_it(
    text: str, prefix: str
) -> None:
    if not prefix.rstrip("\U0010ffff"):
        with pytest.raises(ValueError, match="no text above"):
            after_prefix(prefix)
        return
    assert prefix + text < after_prefix(prefix)
    assert (prefix <= text < after_prefix(prefix)) == text.startswith(prefix)
