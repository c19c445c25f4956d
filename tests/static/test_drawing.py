"""The drawing and the table of axes on the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_page import EINOPS

if TYPE_CHECKING:
    from page_in_browser import Page

pytest_plugins = ["page_in_browser"]


def cells(page: Page, panel: int) -> list[str]:
    """The labels in the front plane of a panel: the inputs in their order, then the output."""
    labels = page.texts(f"#picture .joined:nth-child({panel}) [role=grid] td")
    return [" ".join(label.split()) for label in labels]


def test_each_cell_of_the_output_says_what_it_reads_and_lights_it(page: Page) -> None:
    page.ask("")
    assert cells(page, 1) == ["a0"] * 4 + ["a1"] * 4 + ["a2"] * 4
    assert cells(page, 2) == ["b0", "b1", "b2", "b3"] * 3
    assert cells(page, 3) == [f"a{row} b{column}" for row in range(3) for column in range(4)]
    assert page.text(".say") == "a is copied along axis 1 and b along axis 0."
    page.tab.locator(".panel.output td").nth(6).hover()
    assert page.text(".say") == "Output [1, 2] reads a[1, 0] and b[0, 2]."
    lit = page.tab.eval_on_selector_all("td.lit", "all => all.map(one => one.innerText.trim().split(/\\s+/).join(' '))")
    assert lit == ["a1", "a1", "b2", "b2", "a1 b2"]  # each element, and its copy where it is read
    page.tab.locator(".panel.output td").first.focus()
    page.tab.keyboard.press("ArrowDown")
    page.tab.keyboard.press("ArrowRight")
    assert page.text(".say") == "Output [1, 1] reads a[1, 0] and b[0, 1]."
    page.tab.locator(".joined td").nth(5).click()  # a copy: those that share its element
    assert page.text(".say") == "a[1, 0] again, copied along axis 1: 4 outputs read it."
    assert page.tab.locator(".output .lit").count() == 4
    page.tab.get_by_role("button", name="axis 1", exact=True).focus()
    assert page.text(".say") == "Axis 1: a has 1, which is copied; b has 4."
    assert cells_lit(page, ".output") == ["a0 b0", "a0 b1", "a0 b2", "a0 b3"]


def cells_lit(page: Page, where: str) -> list[str]:
    return [" ".join(label.split()) for label in page.texts(f"{where} .lit")]


def test_planes_of_merged_axes_are_chosen_and_named(page: Page) -> None:
    page.ask(EINOPS)
    assert page.texts(".axes .name") == ["h", "2", "w", "c"]
    assert page.text(".say") == "a is copied along the 2 of axis 0 and c."
    assert cells(page, 1) == ["a00"] * 3 + ["a01"] * 3 + ["a02"] * 3  # w down, c to the right
    page.tab.get_by_role("group", name="Place on output axis 0").get_by_role("button", name="1").click()
    assert cells(page, 1) == ["a00"] * 3 + ["a01"] * 3 + ["a02"] * 3  # the second copy of the same h
    assert page.tab.locator("#picture .joined:nth-child(1) [role=grid] td.new").count() == 9
    page.tab.get_by_role("group", name="Place on output axis 0").get_by_role("button", name="2").click()
    assert cells(page, 2) == ["a10", "a10", "a10", "a11", "a11", "a11", "a12", "a12", "a12"]


NUMBERS = {
    "a b -> a 2 b 2": "a is copied along the 2 of axis 1 and the 2 of axis 3.",
    "a b -> (2 a 2) b": "a is copied along the first 2 of axis 0 and the second 2 of axis 0.",
    "a b -> a b 1": "a is not copied.",
}


@pytest.mark.parametrize("pattern", NUMBERS)
def test_a_number_of_a_pattern_is_named_by_its_axis(page: Page, pattern: str) -> None:
    page.ask(f"op=einops.repeat&input=2,3&pattern={pattern}")
    assert page.text(".say") == NUMBERS[pattern]


def test_a_conflict_shows_its_column_and_its_fix_above_the_drawing(page: Page) -> None:
    page.ask("op=torch.add&input=2,64,7,7&input=64")
    assert page.texts(".axes .conflict b") == ["7", "64"]
    assert page.texts(".conflict figcaption") == ["a (2, 64, 7, 7)", "b (64)"]
    assert page.texts("figcaption .marked") == ["7", "64"]
    marked = page.texts(".conflict [role=grid] .marked")
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
    for width in (1280, 390):
        page.tab.set_viewport_size({"width": width, "height": 800})
        top = "selector => document.querySelector(selector).getBoundingClientRect().bottom"
        assert page.tab.evaluate(top, ".apply") < 800  # in the first viewport
    page.tab.get_by_role("link", name="Apply").click()
    page.settle()
    assert page.text("#verdict") == "✓ Broadcasts to (2, 64, 7, 7)"
    assert page.tab.eval_on_selector("#inputs-1", "control => control.value") == "64,1,1"


def test_the_sentence_and_the_table_come_before_the_pictures(page: Page) -> None:
    page.ask("input=8,1,6,1&input=7,1,5")
    assert page.tab.eval_on_selector_all(".drawing > *", "all => all.map(one => one.classList[0])") == [
        "say",
        "wide",
        "scene",
    ]
    assert page.text(".say") == "a is copied along axes 1 and 3 and b along axes 0 and 2."
    for width, height in ((1280, 800), (390, 844)):
        page.tab.set_viewport_size({"width": width, "height": height})
        assert page.tab.evaluate(BOTTOM, ".axes") < height


def test_a_product_shows_only_copied_operands_with_one_picker_for_each_axis(page: Page) -> None:
    page.ask("op=numpy.matmul&input=5,2,3&input=3,4")
    assert page.texts(".scene:not(.plain) figcaption") == ["b (3, 4)", "operand (5, 3, 4)"]
    assert page.text(".say") == "b is copied along axis 0."
    page.ask("op=numpy.matmul&input=2,3&input=3,4")
    assert page.texts(".scene figcaption") == ["a (2, 3)", "b (3, 4)", "result (2, 4)"]
    assert page.texts(".product [role=grid] .marked") == [
        "a00",
        "a01",
        "a02",
        "b00",
        "b10",
        "b20",
        "",
    ]  # a row times a column
    assert page.text(".say") == "The product is summed over a along axis 1 and b along axis 0."
    page.ask("op=numpy.matmul&input=4,1,2,3&input=5,3,2")
    assert len(page.texts(".scene")) == 3
    assert page.texts(".chooser .help") == ["show axis 0 =", "show axis 1 ="]
    page.tab.get_by_role("group", name="Place on output axis 0").get_by_role("button", name="3").click()
    copied = ".scene:not(.plain) .joined:first-child [role=grid] td"
    assert page.texts(copied)[0] == "a300"  # in the first scene
    page.ask("op=numpy.matmul&input=4,1,2,3&input=1,5,3,2")
    page.tab.get_by_role("group", name="Place on output axis 1").get_by_role("button", name="2").click()
    assert page.texts(".scene:last-child .joined:first-child [role=grid] td")[0] == "b200"  # and in the second


def test_a_tile_is_repeated_as_a_whole(page: Page) -> None:
    page.ask("op=numpy.tile&input=2,3&reps=2,3")
    assert page.text(".say") == "a is repeated 2 times along axis 0 and 3 times along axis 1."


def test_an_axis_of_symbolic_size_says_when_it_is_copied(page: Page) -> None:
    page.ask("op=numpy.add&input=N,3&input=M,3&assume=N=2..")
    assert page.text("#verdict") == "Broadcasts to (N, 3) only if N == M or M == 1"
    assert page.text("#message") == "Assumed: N >= 2"
    assert page.text(".say") == "b is copied along axis 0 if M == 1."
    assert page.text(".legend").strip() == "b10 is b00 if M == 1"
    assert page.texts(".axes .to") == ["→ N if M == 1"]
    labels = page.tab.eval_on_selector_all("td.maybe", "all => all.map(one => one.ariaLabel)")
    assert labels == [f"b1{place}, or b0{place} if M == 1" for place in range(3)]
    page.tab.get_by_role("button", name="axis 0", exact=True).focus()
    assert page.text(".say") == "Axis 0: a has N; b has M, which is copied if M == 1."
    page.ask("op=numpy.add&input=N&input=N,1")
    assert page.text(".say") == "a is copied along axis 0 and b along axis 1."
    assert page.texts(".axes .to") == ["→ N", "→ N"]


BOTTOM = "selector => document.querySelector(selector).getBoundingClientRect().bottom"


def test_sizes_step_in_the_drawing_and_attributes_stand_where_they_act(page: Page) -> None:
    page.ask("op=openvino.Broadcast-3&mode=explicit&input=3&target_shape=3,4&axes_mapping=0")
    assert page.texts(".attribute td") == ["from axis 0", ""]
    page.tab.get_by_role("button", name="Grow target axis 1").click()
    page.tab.locator("#verdict", has_text="(3, 5)").wait_for()
    page.tab.keyboard.press("Enter")  # the same button
    page.tab.locator("#verdict", has_text="(3, 6)").wait_for()
    page.tab.get_by_role("button", name="Shrink input 0 axis 0").click()
    page.tab.locator("#verdict.no").wait_for()
    assert page.query() == "op=openvino.Broadcast-3&input=2&mode=explicit&target_shape=3,6&axes_mapping=0"


def test_what_is_large_unknown_or_empty_is_drawn_in_few_cells(page: Page) -> None:
    page.ask("input=1000000&input=1")
    assert cells(page, 1) == ["a0", "a1", "a2", "…", "a…"]
    page.ask("input=N,1&input=M,2")
    assert cells(page, 1) == ["a0", "a0", "a1", "a1", "…", "…"]
    page.ask("input=0,3&input=3")
    assert page.texts(".empty") == ["no elements"] * 3
    page.ask("input=()&input=()")
    assert cells(page, 3) == ["a b"]
    page.ask("&".join(["input=2,1,1,1,1,1,1,2"] * 9))
    assert len(page.texts(".joined")) == 5
    assert "and 5 more inputs" in page.text(".scene")


def test_on_a_phone_the_shapes_come_first_and_the_verdict_stays_in_view(page: Page) -> None:
    page.tab.set_viewport_size({"width": 390, "height": 500})
    page.ask("input=2,3,1&input=4&input=1,4")
    box = "selector => document.querySelector(selector).getBoundingClientRect().toJSON()"
    assert page.tab.evaluate(box, "#inputs-0")["top"] < 150
    page.tab.fill("#inputs-2", "2,1,4")
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
        ("op=einops.repeat&input=2,3&pattern=h w -> (h 2) w", ["axis 0", "axis 1"]),
    ],
)
def test_each_column_names_its_axis_and_its_letter(page: Page, query: str, columns: list[str]) -> None:
    page.ask(query)
    assert page.texts("table.axes thead button") == columns
