"""Players' and seasons' names: which texts are taken as they are.

Owns: the rule, and what a name is searched by. Never does: change a name silently beyond the white space
around it.
Neighbours: `season` and the HTTP and command-line ways to save names.
"""

import unicodedata

from server.core.refusals import Refusal, shown

MAX_NAME_LENGTH = 64
"""Longest name, in characters (code points)."""
_INVISIBLE = ("Zs", "Zl", "Zp", "Cf")
_LAST = "\U0010ffff"


def clean_name(value: object) -> str | Refusal:
    """Return the name without white space around it, or why it is none; PostgreSQL and UTF-8 hold it."""
    if not isinstance(value, str):
        return Refusal("bad_name", f"{shown(value)} is no text")
    if len(value) > 16 * MAX_NAME_LENGTH:  # before anything is computed over it
        return _too_long(len(value))
    for character in value:
        category = unicodedata.category(character)
        if category == "Cs":
            return Refusal(
                "name_surrogate", f"{shown(value)} has half of a surrogate pair; send the whole character"
            )
        if category == "Cc" or character in "\u2028\u2029":
            return Refusal(
                "name_control", f"{shown(value)} has the control character {character!a}; leave it out"
            )
    name = value.strip()
    if all(unicodedata.category(character) in _INVISIBLE for character in name):
        return Refusal("name_empty", f"{shown(value)} has no visible character")
    return name if len(name) <= MAX_NAME_LENGTH else _too_long(len(name))


def search_key(name: str) -> str:
    """What a name is searched by: without case, accents and doubled spaces; "sao" finds "São Tomé"."""
    marks = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    plain = "".join(character for character in marks if unicodedata.category(character) != "Mn")
    return " ".join(plain.split()) or name


def after_prefix(prefix: str) -> str:
    """The least text above all that begin with `prefix`, by code points; ValueError where there is none."""
    stem = prefix.rstrip(_LAST)
    if not stem:
        raise ValueError(f"there is no text above all that begin with {prefix!a}")
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(0xE000 if following == 0xD800 else following)  # surrogates are no characters


def _too_long(length: int) -> Refusal:
    return Refusal("name_too_long", f"the name has {length} characters; at most {MAX_NAME_LENGTH} are taken")
