"""If-None-Match: which answers a client has already (RFC 9110)."""

import pytest

from server.web.conditional import has_current

TAG = "5f0c6e1d2a3b4c5d-7"


@pytest.mark.parametrize(
    "header",
    [
        f'"{TAG}"',
        f'W/"{TAG}"',
        "*",
        " * ",
        f'"other", "{TAG}"',
        f'W/"other",W/"{TAG}"',
        f'"a,b", "{TAG}"',
        f'"",  "{TAG}" , "x"',
    ],
)
def test_a_header_that_names_the_tag_matches(header: str) -> None:
    assert has_current(header, TAG)


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        f'"{TAG}8"',
        f'"x{TAG}"',
        TAG,
        f'w/"{TAG}8"',
        '"5f0c6e1d2a3b4c5d-6"',
        f'"a{TAG}", "{TAG}b"',
        '"*"',
    ],
)
def test_another_header_does_not(header: str | None) -> None:
    assert not has_current(header, TAG)
