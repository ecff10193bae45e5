"""The browser's stage, for faults that take longer than its own tests may."""

from tests.browser.conftest import browser, line, pages, stage

__all__ = ["browser", "line", "pages", "stage"]
