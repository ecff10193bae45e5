"""Settings: one table for the process and for the README."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from server.settings import Settings, rows, table, variable

ROOT = Path(__file__).resolve().parent.parent


def test_every_setting_says_what_it_means() -> None:
    assert [row.variable for row in rows() if not row.meaning] == []


def test_a_setting_is_read_from_the_variable_that_the_table_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable("max_limit"), "7")
    monkeypatch.setenv(variable("redis_url"), "redis://elsewhere")

    settings = Settings()

    assert (settings.max_limit, settings.redis_url) == (7, "redis://elsewhere")


def test_an_empty_variable_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "")
    monkeypatch.setenv("RANKCAST_PORT", "")

    settings = Settings()

    assert (settings.database_url, settings.port) == (None, 8000)


def test_origins_are_given_with_commas_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKCAST_ORIGINS", "https://a.example, https://b.example,")

    assert Settings().origins == ["https://a.example", "https://b.example"]


def test_settings_never_change_after_the_start() -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]  # mypy refuses it, too: that is the point


def test_a_secret_is_not_shown_with_the_settings() -> None:
    assert "hunter2" not in repr(Settings(api_key="hunter2", token_secret="hunter2"))


def test_the_readme_has_the_table_of_this_release() -> None:
    assert table() in (ROOT / "README.md").read_text()
