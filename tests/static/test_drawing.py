"""The drawing on the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from test_page import EINOPS

if TYPE_CHECKING:
    from conftest import Served
    from page_in_browser import Page

pytest_plugins = ["page_in_browser"]


def cells(page: Page, row: int, panel: int) -> list[str]:
    """The labels of the cells of a panel. Row 1 is the table."""
    script = "all => all.map(one => [...one.querySelectorAll('text')].map(({textContent: text}) => text).join(' '))"
    labels: list[str] = page.tab.eval_on_selector_all(
        f".pictures:nth-of-type({row}) svg:nth-child({panel}) [data-reads]", script
    )
    return labels


def captions(page: Page) -> list[str]:
    """The name and the shape below each panel."""
    script = "all => all.map(({textContent}) => textContent)"
    texts: list[str] = page.tab.eval_on_selector_all(".pictures:nth-of-type(n + 2) text:has(tspan)", script)
    return texts


def lit(page: Page) -> list[str]:
    script = "all => all.map(one => [...one.querySelectorAll('text')].map(({textContent: text}) => text).join(' '))"
    labels: list[str] = page.tab.eval_on_selector_all(".lit", script)
    return labels


def test_each_cell_of_the_output_says_what_it_reads_and_lights_it(page: Page) -> None:
    page.ask("")
    assert cells(page, 2, 1) == ["a0"] * 4 + ["a1"] * 4 + ["a2"] * 4
    assert cells(page, 2, 2) == ["b0", "b1", "b2", "b3"] * 3
    assert cells(page, 2, 3) == [f"a{row} b{column}" for row in range(3) for column in range(4)]
    assert re.findall(r"\d", page.text(".say")) == ["1", "0"]
    page.tab.locator("[data-output]").nth(6).hover()
    assert page.text(".say") == "Output [1, 2] reads a[1, 0] and b[0, 2]."
    assert lit(page) == ["a1"] * 4 + ["b2"] * 3 + ["a1 b2"]  # each element and its copies
    page.tab.locator("[data-output]").first.focus()
    page.tab.keyboard.press("ArrowDown")
    page.tab.keyboard.press("ArrowRight")
    assert page.text(".say") == "Output [1, 1] reads a[1, 0] and b[0, 1]."
    page.tab.keyboard.press("ArrowUp")
    assert page.text(".say") == "Output [0, 1] reads a[0, 0] and b[0, 1]."
    page.tab.locator(".pictures svg:nth-child(1) [data-reads]").nth(
        5
    ).hover()  # a copy: the outputs that read its element
    assert page.text(".say") == "a[1, 0]"
    assert lit(page) == ["a1"] * 4 + [f"a1 b{column}" for column in range(4)]
    page.tab.mouse.move(0, 0)
    page.tab.locator("#inputs").focus()
    assert page.text(".say").startswith(
        "Output [0, 1]"
    )  # the last cell keeps its sentence while the pointer is elsewhere


def test_merged_axes_show_the_elements_and_how_often_they_are_repeated(page: Page) -> None:
    page.ask(EINOPS)
    assert cells(page, 2, 1) == ["a00"] * 3 + ["a01"] * 3 + ["a02"] * 3  # w down, c to the right
    assert re.findall(r"\d", page.text(".say")) == ["2", "0", "3", "2"]
    page.ask("op=einops.repeat&input=2,3&pattern=a b -> a b 1")
    assert page.text(".say") == "a is not copied."
    page.ask("op=numpy.tile&input=2,3&reps=2,3")
    assert re.findall(r"\d", page.text(".say")) == ["2", "0", "3", "1"]


def test_a_conflict_shows_its_axis_in_red_and_its_fix_above_the_drawing(page: Page) -> None:
    page.ask("op=torch.add&input=2,64,7,7&input=64")
    assert page.text(".say") == "Axis 3 of a meets axis 0 of b."
    assert captions(page) == ["a (2, 64, 7, 7)", "b (64)"]
    content = "all => all.map(({textContent}) => textContent)"
    assert page.tab.eval_on_selector_all("tspan.marked", content) == ["7", "64"]
    marked = page.tab.eval_on_selector_all("text.marked", content)
    assert marked == [
        "a000",
        "a001",
        "a002",
        "a006",
        "b0",
        "b1",
        "b2",
        "b63",
    ]  # the cells along the axis that conflicts
    fill = "one => getComputedStyle(one).stroke"
    assert page.tab.eval_on_selector("rect.marked", fill) == "rgb(179, 38, 30)"
    page.tab.emulate_media(color_scheme="dark")
    assert page.tab.eval_on_selector("rect.marked", fill) == "rgb(255, 138, 128)"
    for width in (1280, 390):
        page.tab.set_viewport_size({"width": width, "height": 800})
        assert page.tab.evaluate(BOTTOM, ".apply") < 800  # in the first viewport
    page.tab.get_by_role("link", name="Apply").click()
    page.settle()
    assert page.text("#verdict") == "✓ Broadcasts to (2, 64, 7, 7)"
    assert page.tab.input_value("#inputs") == "(2, 64, 7, 7) (64, 1, 1)"


def test_the_sentence_and_the_table_come_before_the_pictures(page: Page) -> None:
    page.ask("input=8,1,6,1&input=7,1,5")
    assert re.findall(r"\d", page.text(".say")) == ["1", "3", "0", "2"]
    assert page.tab.locator(".say + .pictures text").first.text_content() == "axis 0"
    assert captions(page) == ["a (8, 1, 6, 1)", "b (7, 1, 5)", "output (8, 7, 6, 5)"]
    for width, height in ((1280, 800), (390, 844)):
        page.tab.set_viewport_size({"width": width, "height": height})
        assert page.tab.evaluate(BOTTOM, ".say + .pictures") < height


BOTTOM = "selector => document.querySelector(selector).getBoundingClientRect().bottom"


def test_a_product_shows_a_row_times_a_column_and_the_copied_operands(page: Page) -> None:
    page.ask("op=numpy.matmul&input=5,2,3&input=3,4")
    assert captions(page) == ["a (5, 2, 3)", "b (3, 4)", "result (5, 2, 4)", "b (3, 4)", "operand (5, 3, 4)"]
    assert re.findall(r"\d", page.text(".say")) == ["0", "2", "0"]
    page.ask("op=numpy.matmul&input=2,3&input=3,4")
    assert captions(page) == ["a (2, 3)", "b (3, 4)", "result (2, 4)"]
    marked = page.tab.eval_on_selector_all("text.marked", "all => all.map(({textContent}) => textContent)")
    assert marked == ["a00", "a01", "a02", "b00", "b10", "b20"]
    assert page.tab.locator("rect.marked").count() == 7  # and one element of the result


def test_an_axis_of_symbolic_size_says_when_it_is_copied(page: Page) -> None:
    page.ask("op=numpy.add&input=N,3&input=M,3&assume=N=2..")
    assert page.text("#verdict") == "Broadcasts to (N, 3) only if N == M or M == 1"
    assert page.text(".say") == "b is copied along axis 0 if M == 1."
    page.ask("op=numpy.add&input=N&input=N,1")
    assert re.findall(r"\d", page.text(".say")) == ["0", "1"]


def test_what_is_large_unknown_or_empty_is_drawn_in_few_cells(page: Page) -> None:
    page.ask("input=1000000&input=1")
    assert cells(page, 2, 1) == ["a0", "a1", "a2", "a…"]
    page.ask("input=N,1&input=M,2")
    assert cells(page, 2, 1) == ["a0", "a0", "a1", "a1"]
    page.ask("input=0,3&input=3")
    assert page.tab.get_by_text("no elements", exact=True).count() == 3
    page.ask("input=()&input=()")
    assert cells(page, 2, 3) == ["a b"]
    page.ask("&".join(["input=2,1,1,1,1,1,1,2"] * 9))
    assert page.tab.get_by_text("the first 4 of 9 inputs").count() == 1


def test_copies_move_unless_the_reader_asks_for_less_motion(browser: Any, service: Served) -> None:
    for wish, count in (("reduce", 0), ("no-preference", 17)):  # 12 - 3 copies of a, 12 - 4 of b
        context = browser.new_context(reduced_motion=wish)
        tab = context.new_page()
        tab.add_init_script(
            "window.moved = 0; const {animate} = Element.prototype;"
            "Element.prototype.animate = function (...given) { window.moved += 1; return animate.apply(this, given); };"
        )
        tab.goto(f"{service.url}/?op=numpy.add&input=3,1&input=1,4")
        tab.wait_for_selector("#answer[aria-busy=false]")
        assert tab.evaluate("window.moved") == count
        context.close()


def test_on_a_phone_the_shapes_come_first_and_the_verdict_stays_in_view(page: Page) -> None:
    page.tab.set_viewport_size({"width": 390, "height": 500})
    page.ask("input=2,3,1&input=4&input=1,4")
    box = "selector => document.querySelector(selector).getBoundingClientRect().toJSON()"
    assert page.tab.evaluate(box, "#inputs")["top"] < 150
    page.tab.fill("#inputs", "2,3,1 4 2,1,4")
    page.settle()
    assert page.tab.evaluate("scrollY") == 0
    assert page.tab.evaluate(box, "#verdict")["bottom"] <= 500
    page.tab.locator("#code").scroll_into_view_if_needed()
    assert page.tab.evaluate("scrollY") > 200
    assert page.tab.evaluate(box, "#verdict")["top"] == 0
    page.tab.get_by_role("link", name="Outer product").click()
    page.settle()
    assert page.tab.evaluate("scrollY") == 0


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("op=numpy.einsum&input=2,3&input=3,4&equation=ij,jk->ik", ["axis 0 (i)", "sum (j)", "axis 1 (k)"]),
        ("op=numpy.tile&input=2,3&reps=2,2", ["axis 0", "axis 0", "axis 1", "axis 1"]),
    ],
)
def test_each_column_names_its_axis_and_its_letter(page: Page, query: str, columns: list[str]) -> None:
    page.ask(query)
    heads = page.tab.eval_on_selector_all(".say + .pictures text.small", "all => all.map(one => one.textContent)")
    assert heads == columns
