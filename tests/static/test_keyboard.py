"""The page by keyboard alone, and by touch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from page_states import STATES, show

if TYPE_CHECKING:
    from conftest import Served
    from page_in_browser import Page

pytest_plugins = ["page_in_browser"]

FOCUSED = """() => {
  const {id, textContent, ariaLabel} = document.activeElement;
  return id || ariaLabel || textContent.trim();
}"""


def tab_stops(tab: Any) -> list[str]:
    """Return the names of the elements that Tab reaches, from the start of the page to its end."""
    tab.evaluate("document.activeElement.blur()")
    stops: list[str] = []
    while True:
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement === document.body"):
            return stops
        stops.append(tab.evaluate(FOCUSED))
        assert len(stops) < 200, stops


def test_tab_reaches_the_shapes_the_examples_and_then_the_fix(page: Page) -> None:
    page.ask("op=torch.add&input=2,64,7,7&input=64")
    stops = tab_stops(page.tab)
    assert stops[:5] == ["Skip to the result", "All ops", "API", "inputs", "op"]
    rest = iter(stops[5:])
    (hint,) = page.texts(".hint li > span")
    fix = f"Apply: {hint}"
    wanted = ["Bias on NCHW", "Compare frameworks", fix, "as", "copy", "a[0, 0, 0, 0]", "b[0]", "code"]
    assert [name for name in wanted if name in rest] == wanted  # in this order


ELSEWHERE = ("ops", "problem", "list", "many", "unfolded", "pasted")
"""The states without a form, with very many fields, or in which a click has moved the focus."""


@pytest.mark.parametrize("state", [state for state in STATES if state not in ELSEWHERE])
def test_tab_passes_through_each_state_without_a_trap(browser: Any, service: Served, state: str) -> None:
    context = browser.new_context()
    tab = context.new_page()
    show(tab, service.url, state)
    stops = tab_stops(tab)
    assert {"Skip to the result", "inputs", "op"} <= {*stops}
    cells = [stop for stop in stops if re.fullmatch(r"\w\[[\d, ]*\]|Output .*", stop)]
    assert len(cells) <= tab.locator("svg:has([data-reads])").count()  # the arrow keys move inside a picture
    hidden = "all => all.filter(one => !one.checkVisibility() && one.matches(':focus')).length"
    assert tab.eval_on_selector_all("*", hidden) == 0
    context.close()


def test_enter_on_apply_rewrites_the_input_and_reports_the_verdict(page: Page) -> None:
    page.ask("op=torch.add&input=2,64,7,7&input=64")
    page.tab.get_by_role("link", name="Apply").focus()
    page.tab.keyboard.press("Enter")
    page.tab.locator("#verdict.yes").wait_for()
    page.settle()
    assert page.tab.input_value("#inputs") == "(2, 64, 7, 7) (64, 1, 1)"
    assert page.tab.evaluate(FOCUSED) == "verdict"  # the next Tab continues from the result
    assert page.tab.locator("#status").get_attribute("role") == "status"
    assert page.text("#status") == "✓ Broadcasts to (2, 64, 7, 7)"


def test_the_skip_link_is_shown_on_focus_and_leads_to_the_result(page: Page) -> None:
    page.ask("")
    link = page.tab.get_by_role("link", name="Skip to the result")
    page.tab.keyboard.press("Tab")
    assert link.evaluate("one => one.matches(':focus') && getComputedStyle(one).clipPath") == "none"
    page.tab.keyboard.press("Enter")
    page.tab.keyboard.press("Tab")
    assert page.tab.evaluate("document.getElementById('answer').contains(document.activeElement)")


@pytest.mark.parametrize("query", ["op=torch.add&input=2,64,7,7&input=64", "op=torch.add&input=N&input=N,1"])
def test_a_tap_on_apply_fixes_the_shapes(browser: Any, service: Served, query: str) -> None:
    context = browser.new_context(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
    tab = context.new_page()
    tab.goto(f"{service.url}/?{query}")
    tab.wait_for_selector("#answer[aria-busy=false]")
    tab.tap(".apply")
    tab.locator("#verdict.yes").wait_for()
    context.close()
