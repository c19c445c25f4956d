"""The op picker of the page: a combobox with the ops of each framework."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    import httpx
    from page_in_browser import Page

pytest_plugins = ["page_in_browser"]


def shown(page: Page) -> list[str]:
    """Return the names in the open list."""
    names: list[str] = page.tab.eval_on_selector_all("#ops [role=option]", "all => all.map(one => one.dataset.name)")
    return names


def active(page: Page) -> str | None:
    """Return the name of the option that the combobox reports as active."""
    script = """input => {
      const option = document.getElementById(input.getAttribute("aria-activedescendant"));
      return option && option.ariaSelected === "true" && option.dataset.name;
    }"""
    name: str | None = page.tab.eval_on_selector("#op", script)
    return name


def test_a_click_lists_all_ops(page: Page, http: httpx.Client) -> None:
    page.ask("op=torch.add&input=3&input=3")
    assert page.tab.get_by_role("combobox", name="op type to search").get_attribute("aria-expanded") == "false"
    page.tab.click("#op")
    assert page.tab.get_by_role("combobox", name="op type to search").get_attribute("aria-expanded") == "true"
    assert shown(page) == ["compare", *(entry["name"] for entry in http.get("/v1/ops").json()["ops"])]
    assert active(page) == "torch.add"
    box = "one => one.getBoundingClientRect().toJSON()"
    option, listed = page.tab.locator("[aria-selected=true]"), page.tab.locator("#ops")
    assert listed.evaluate(box)["top"] <= option.evaluate(box)["top"] < listed.evaluate(box)["bottom"]


SEARCHES = {
    "torch.mul": "torch.mul",
    "np.multiply": "numpy.multiply",
    "tf add": "tensorflow.add",
    "TORCH matmul": "torch.matmul",
    "add": "numpy.add",
    "masked_fill": "torch.masked_fill",
    "jnp.minimum": "jax.numpy.minimum",
    "compare": "compare",
}
"""What is typed, and the best match."""


@pytest.mark.parametrize("text", SEARCHES)
def test_a_search_finds_names_and_aliases(page: Page, text: str) -> None:
    page.ask("op=onnx.Add&input=3&input=3")
    page.tab.click("#op")
    page.tab.keyboard.type(text)
    assert active(page) == shown(page)[0] == SEARCHES[text]
    page.tab.keyboard.press("Enter")
    page.settle()
    assert page.query().startswith(f"op={SEARCHES[text]}&input=3&input=3")
    assert page.tab.locator("#ops").is_hidden()


def test_the_keyboard_moves_through_the_list_and_escape_restores_the_op(page: Page) -> None:
    page.ask("op=numpy.add&input=3&input=3")
    page.tab.focus("#op")
    assert page.tab.locator("#ops").is_hidden()  # Tab passes without a list
    page.tab.keyboard.press("ArrowDown")
    assert active(page) == "numpy.add"
    page.tab.keyboard.press("ArrowUp")
    page.tab.keyboard.press("ArrowUp")
    assert active(page) == "numpy.broadcast_to"
    page.tab.keyboard.type("torch.")
    page.tab.keyboard.press("ArrowUp")
    assert active(page) == shown(page)[-1]  # before the first is the last
    page.tab.keyboard.press("Escape")
    assert page.tab.input_value("#op") == "numpy.add"
    assert page.tab.locator("#ops").is_hidden()
    page.tab.keyboard.type("torch.expan")
    page.tab.keyboard.press("Tab")  # half a name chooses nothing
    assert page.tab.input_value("#op") == "numpy.add"
    page.tab.focus("#op")
    page.tab.keyboard.type("torch.sub")
    page.tab.keyboard.press("Tab")  # a whole name is chosen
    page.settle()
    assert page.query() == "op=torch.sub&input=3&input=3"


def test_an_unknown_name_is_reported_by_the_service(page: Page) -> None:
    page.ask("op=numpy.add&input=3&input=3")
    page.tab.click("#op")
    page.tab.keyboard.type("numpy.adddd")
    assert page.text("#ops") == page.text("#found") == "No op has this name."
    page.tab.keyboard.press("Enter")
    page.settle()
    assert page.text("#error-op").startswith("There is no op 'numpy.adddd'")
    page.complaints.clear()  # the browser logs each status of 400 or more


def test_a_tap_chooses_an_op(page: Page) -> None:
    context = page.tab.context.browser.new_context(
        has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844}
    )
    tab = context.new_page()
    tab.goto(f"{page.url}/?op=numpy.add&input=3&input=3")
    tab.wait_for_selector("#answer[aria-busy=false]")
    tab.tap("#op")
    tab.locator("#ops [data-name='numpy.matmul']").tap()
    tab.wait_for_url("**op=numpy.matmul**")
    assert tab.locator("#ops").is_hidden()
    tab.tap("#op")
    heights = tab.eval_on_selector_all("#ops [role=option]", "all => all.map(one => one.offsetHeight)")
    assert min(heights) >= 32
    context.close()
