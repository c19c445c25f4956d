"""Fixtures for tests of the page in a real browser. The tests are skipped without a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import pytest
from conftest import PATIENCE, Served

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE * 1000)
        yield browser
        browser.close()


class Page:
    """A page of the service in a browser's tab, and what it had to complain about."""

    def __init__(self, tab: Any, url: str) -> None:
        self.tab, self.url = tab, url
        self.complaints: list[str] = []
        tab.set_default_timeout(PATIENCE * 1000)
        tab.on("console", lambda message: self.complaints.append(message.text))
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))

    def ask(self, query: str) -> None:
        self.tab.goto(f"{self.url}/?{query}")
        self.settle()

    def settle(self) -> None:
        """Waits until what was asked last is answered, with its values and its code."""
        self.tab.wait_for_selector("#answer[aria-busy=false]")

    def choose(self, op: str) -> None:
        """Type an op, or its alias, into the op picker."""
        self.tab.fill("#op", op)
        self.tab.keyboard.press("Enter")

    def text(self, selector: str) -> str:
        text: str = self.tab.locator(selector).inner_text()
        return text

    def texts(self, selector: str) -> list[str]:
        return [text.strip() for text in self.tab.locator(selector).all_inner_texts()]

    def query(self) -> str:
        return unquote(self.tab.url.partition("?")[2])


@pytest.fixture
def page(browser: Any, service: Served) -> Iterator[Page]:
    """A page that must not complain of anything."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = Page(context.new_page(), service.url)
    yield page
    context.close()
    assert page.complaints == []
