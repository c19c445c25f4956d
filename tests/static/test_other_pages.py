"""The documentation, the catalogue and problems in a browser, and the security headers of all pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conftest import PATIENCE, Served, served, wait_for

if TYPE_CHECKING:
    from page_in_browser import Page

pytest_plugins = ["page_in_browser"]


def test_code_is_copied_and_selected_where_there_is_no_clipboard(page: Page) -> None:
    page.ask("op=numpy.add&input=3,1&input=4&as=Python")
    code = page.text("#code")
    assert code.splitlines()[0] == "from axiscast import Client"
    page.tab.click("#copy")
    page.tab.get_by_role("button", name="Copied").wait_for()
    assert page.tab.evaluate("navigator.clipboard.readText()") == code
    page.tab.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined}); getSelection().empty()")
    page.tab.click("#copy")
    page.tab.get_by_role("button", name="Selected").wait_for()
    assert page.tab.evaluate("getSelection().toString()") == code


def test_a_service_that_asks_for_keys_says_so(browser: Any, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("alice:0123456789abcdef\n")
    with served(api_keys_file=keys) as guarded:
        tab = browser.new_page()
        tab.goto(guarded.url)
        tab.get_by_text("this service requires an API key").wait_for(timeout=PATIENCE * 1000)
        tab.close()


def test_no_link_leads_to_documentation_that_is_turned_off(page: Page) -> None:
    page.ask("op=numpy.add&input=3&input=3")
    assert page.tab.locator('a[href^="ops"]').count() == 2

    def without(route: Any) -> None:
        response = route.fetch()
        route.fulfill(response=response, body=re.sub('<nav id="docs".*</nav>', "", response.text()))

    page.tab.route(f"{page.url}/?*", without)  # as the service sends it then: test_exposure.py
    page.ask("op=numpy.add&input=3&input=4")
    assert page.tab.locator('a[href^="ops"]').count() == 0


def test_the_documentation_asks_in_the_browser_within_its_policy(page: Page) -> None:
    page.tab.goto(f"{page.url}/docs")
    operation = page.tab.locator("#operations-broadcasting-check")
    operation.locator(".opblock-summary").click()
    operation.get_by_text("Try it out").click()
    operation.locator("button.execute").click()
    answer = operation.locator(".live-responses-table .microlight").first
    answer.wait_for()
    assert '"compatible": true' in answer.inner_text()
    assert page.tab.locator(".opblock").count() >= 8
    assert page.tab.locator("button a[href]").count() == 0
    page.tab.emulate_media(color_scheme="dark")
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    assert wait_for(
        lambda: page.tab.evaluate(colour) == "rgb(28, 32, 34)"
    )  # the policy forbids polling inside of the page


def test_no_other_page_may_frame_the_page_or_the_documentation(browser: Any, service: Served) -> None:
    paths = {"/v1/check?input=3&format=text": True, "/": False, "/docs": False}
    frames = "".join(f'<iframe src="{service.url}{path}"></iframe>' for path in paths)
    tab = browser.new_page()
    tab.route(f"{service.url}/outer", lambda route: route.fulfill(content_type="text/html", body=frames))
    tab.goto(f"{service.url}/outer")  # until all frames are loaded or blocked

    def are_framed_as_allowed() -> bool:
        tab.wait_for_timeout(50)
        return [frame.url.startswith(service.url) for frame in tab.frames[1:]] == list(paths.values())

    assert wait_for(are_framed_as_allowed)
    tab.close()


def test_the_ops_are_filtered_by_name_and_alias(page: Page) -> None:
    page.tab.goto(f"{page.url}/ops")
    everything = page.tab.locator("article:visible").count()
    page.tab.get_by_label("Filter").fill("torch.mul")
    assert [text.splitlines()[0] for text in page.texts("article:visible h3")] == ["torch.add"]
    assert page.texts("section:visible h2") == ["torch"]
    page.tab.get_by_label("Filter").fill("no such op")
    assert page.text("#found") == "No op has this name."
    page.tab.get_by_label("Filter").fill("")
    assert page.tab.locator("article:visible").count() == everything > 80


def test_a_problem_is_explained_in_the_browser(page: Page) -> None:
    page.tab.goto(f"{page.url}/problems/unknown-op")
    assert page.text("h1") == "axiscast problem unknown-op"
    assert page.tab.eval_on_selector("h1", "one => getComputedStyle(one).fontFamily").startswith("ui-monospace")
    page.tab.get_by_role("link", name="overloaded").click()
    page.tab.wait_for_url("**/problems/overloaded")
    assert page.text("h1") == "axiscast problem overloaded"
