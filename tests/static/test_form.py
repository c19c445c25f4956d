"""The form of the page: shapes, attributes, errors and pasted text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from test_page import reasons
from test_shape_texts import SHAPES

if TYPE_CHECKING:
    from page_in_browser import Page

pytest_plugins = ["page_in_browser"]


def test_an_emptied_field_is_not_a_scalar(page: Page) -> None:
    page.ask("input=3&input=()")
    assert page.text("#verdict") == "✓ Broadcasts to (3,)"
    page.tab.fill("#inputs", "")
    page.settle()
    assert page.text("#verdict") == "Fill in shape a"
    assert page.text("#error-inputs").startswith("Write a shape as 8,1,6,1")


def test_only_the_attributes_of_the_chosen_mode_are_asked_for(page: Page) -> None:
    fields = {"numpy": [], "explicit": ["axes_mapping"], "pdpd": ["axis"]}
    page.ask("op=openvino.Broadcast-1&mode=explicit&input=4&target_shape=3,4&axes_mapping=1")
    for mode, own in fields.items():
        page.tab.get_by_label("mode").select_option(label=mode)
        page.settle()
        assert page.texts("#fields label") == ["mode", "target_shape", *own]
        assert ("axes_mapping" in page.query()) == (mode == "explicit")


def test_what_was_typed_goes_with_the_reader_to_another_op(page: Page) -> None:
    page.ask("op=openvino.Broadcast-1&mode=pdpd&input=3,1&target_shape=3,4")
    page.choose("openvino.Broadcast-3")
    page.settle()
    assert page.query() == "op=openvino.Broadcast-3&input=3,1&target_shape=3,4"  # which has no pdpd mode
    page.choose("torch.expand")
    page.settle()
    assert page.query() == "op=torch.expand&input=3,1&size=3,4"
    page.choose("compare")
    page.settle()
    assert page.query() == "op=compare&input=3,1&shape=3,4"


def test_a_shape_is_read_here_as_in_a_terminal_and_a_link_holds_it_in_one_form(page: Page) -> None:
    page.ask("input=x.shape: torch.Size([8, 1])&input=8\u00d71")
    assert page.query() == "op=numpy.broadcast_arrays&input=8,1&input=8,1"
    read = "async texts => { const {sizesOf} = await import('/static/question.js'); return texts.map(sizesOf); }"
    shapes = dict(zip(SHAPES, page.tab.evaluate(read, list(SHAPES)), strict=True))
    assert shapes == {text: sizes and list(map(str, sizes)) for text, sizes in SHAPES.items()}


def test_what_is_known_of_names_is_asked_of_one_op_and_of_all(page: Page) -> None:
    page.ask('input=N,1&input=M,3&assume={"N":"2..", "M": 4}')
    assert page.tab.get_by_label("assume").input_value() == "N=2.., M=4"
    assert page.text("#verdict") == "Broadcasts to (4, 3) only if N == 4"
    page.tab.select_option("#as", "Python")
    page.settle()
    assert 'assume={"N": "2..", "M": 4}' in page.text("#code")
    page.tab.get_by_role("link", name="Compare all frameworks").click()
    page.settle()
    assert page.query() == "op=compare&input=N,1&input=M,3&assume=N=2..,M=4&as=Python"
    found = [reason for reason, ops in reasons(page).items() if "numpy.broadcast_arrays" in ops]
    assert found == [("(4, 3) for some sizes", "if N == 4")]
    assert 'assume={"N": "2..", "M": 4}' in page.text("#code")


MISTAKES = {
    "input=8,1&input=8,a!": (
        "inputs",
        "'a!' is not a size. Write a shape as 8,1,6,1 or 8x1x6x1, a scalar as (), and symbolic sizes as N, ? or 2..8",
    ),
    "input=8,1&input=3,-1": ("inputs", "Axis 1 must not be negative: a size is 0 or more"),
    "input=N&assume=M=2..": ("field-assume", "No shape contains this name: the names are N"),
    "op=numpy.brodcast_to&input=3": ("op", "There is no op 'numpy.brodcast_to': did you mean numpy.broadcast_to"),
    "op=poputil.expandToMatchRanks&input=3&input=3&input=3": (
        "inputs",
        "poputil.expandToMatchRanks takes 2 inputs, not 3",
    ),
}
"""Questions that can't be answered: the field, and what stands beside it."""


def test_an_error_is_said_once_beside_its_field(page: Page) -> None:
    for query, (field, words) in MISTAKES.items():
        page.ask(query)
        slot = f"#error-{field}"
        assert page.text(slot).startswith(words)
        assert page.tab.eval_on_selector_all("[aria-invalid]", "all => all.map(one => one.id)") == [field]
        assert words not in page.text("#answer")
        assert [text for text in page.texts("form .error") if text] == [page.text(slot)]
        assert page.tab.locator("#verdict").get_attribute("class") == "error"
    page.complaints.clear()  # the browser's own, of answers that are problems


@pytest.mark.parametrize(("width", "height", "most"), [(1280, 800, 300), (390, 844, 420)])
def test_the_form_leaves_room_for_the_verdict_and_its_errors_stand_below_their_fields(
    page: Page, width: int, height: int, most: int
) -> None:
    page.tab.set_viewport_size({"width": width, "height": height})
    box = "selector => document.querySelector(selector).getBoundingClientRect().toJSON()"
    for query in (
        "input=8,1,6,1&input=7,1,5",
        "op=torch.add&input=2,64,7,7&input=64",
        "op=numpy.matmul&input=2,3&input=3,4",
    ):
        page.ask(query)
        assert page.tab.evaluate(box, "#verdict")["top"] < most, query
    page.ask("input=8,1&input=8,a!")
    field, error = page.tab.evaluate(box, "#inputs"), page.tab.evaluate(box, "#error-inputs")
    assert 0 <= error["top"] - field["bottom"] < 12
    assert error["left"] == field["left"]


def test_a_short_shape_or_index_does_not_break_across_lines(page: Page) -> None:
    page.tab.set_viewport_size({"width": 390, "height": 844})
    page.ask("op=torch.add&input=2,64,7,7&input=64")
    assert page.texts(".hint .short") == ["b[:, None, None]", "(64, 1, 1)", "(2, 64, 7, 7)"]
    message = page.text("#message")
    assert [value for value in ("a", "(2, 64, 7, 7)", "7", "b", "(64,)", "64") if value not in message] == []
    lines = "all => all.map(one => one.getClientRects().length)"
    assert set(page.tab.eval_on_selector_all(".short", lines)) == {1}


def test_a_link_may_name_an_alias(page: Page) -> None:
    for alias, rule in {"torch.mul": "torch.add", "np.add": "numpy.add"}.items():
        page.ask(f"op={alias}&input=3,1&input=4")
        assert page.text("#doc").startswith("Broadcast two")
        assert page.tab.locator("#doc a").last.get_attribute("href") == f"ops#{rule}"
        page.tab.fill("#inputs", "3,1 5")
        page.settle()
        assert page.query() == f"op={alias.replace('np.', 'numpy.')}&input=3,1&input=5"


ERROR = "ValueError: operands could not be broadcast together with shapes (2,64,7,7) (64,)"


@pytest.mark.parametrize("before", ["", "Traceback (most recent call last):\n"])
def test_an_error_message_in_place_of_a_shape_becomes_its_question(page: Page, before: str) -> None:
    page.ask("op=torch.add&input=3&input=4")
    page.tab.fill("#inputs", f"{before}{ERROR}\n")
    page.tab.get_by_text("Read from the error").wait_for()
    page.settle()
    assert page.tab.input_value("#inputs") == "(2, 64, 7, 7) (64,)"
    assert page.text("#why") == "Read from the error: numpy.add of (2, 64, 7, 7) and (64,)"
    assert page.query() == "op=numpy.add&input=2,64,7,7&input=64"
    page.tab.fill("#inputs", "2,64,7,7 64,1,1")
    page.settle()
    assert page.text("#why") == ""


NAMED = """Traceback (most recent call last):
  File "t.py", line 3, in <module>
    y = images + bias
        ~~~~~~~^~~~~~
RuntimeError: The size of tensor a (7) must match the size of tensor b (64) at non-singleton dimension 3"""
"""An error message without shapes, whose explanation names the operands."""


def test_an_error_message_without_shapes_says_what_it_is_about(page: Page) -> None:
    page.ask("op=torch.add&input=3&input=4")
    page.tab.fill("#inputs", "RuntimeError: shape '[4, 2]' is invalid for input of size 6")
    page.tab.get_by_text("An error message", exact=True).wait_for()
    assert [value for value in ("6", "(4, 2)") if value not in page.text("#message")] == []
    assert page.tab.input_value("#inputs").startswith("RuntimeError")
    assert page.tab.locator("#picture").is_hidden()
    page.tab.fill("#inputs", NAMED)
    page.tab.locator("#message code").first.wait_for()
    assert page.texts("#message code")[:2] == ["images", "bias"]
    assert "`" not in page.text("#message")
    page.tab.fill("#inputs", "3,1 4")
    page.settle()
    assert page.tab.locator("#picture").is_visible()


TEXTS = {
    "a (3,4) + b (3,)": "op=torch.add&input=3,4&input=3",
    "img(2,64,7,7) * bias(64,)": "op=torch.add&input=2,64,7,7&input=64",
    "torch.Size([8, 1])\nx: (1, 3)": "op=torch.add&input=8,1&input=1,3",
    "x.shape = (8, 1), y.shape = (3,)": "op=torch.add&input=8,1&input=3",
    "3,4 3": "op=torch.add&input=3,4&input=3",
    "8x1x6 7 x 1": "op=torch.add&input=8,1,6&input=7,1",
    "[3, 4], []": "op=torch.add&input=3,4&input=()",
    "N,1 1..8,3": "op=torch.add&input=N,1&input=1..8,3",
    "a (2, 3) @ b (3, 4)": "op=torch.matmul&input=2,3&input=3,4",
}
"""Texts in the box, and the requests that they mean."""


@pytest.mark.parametrize("text", TEXTS)
def test_the_box_takes_lists_of_shapes_and_code(page: Page, text: str) -> None:
    page.ask("op=torch.add&input=2&input=2")
    page.tab.fill("#inputs", text)
    page.settle()
    assert page.query() == TEXTS[text]
    assert page.tab.input_value("#inputs") == text
    assert page.text("#why") == ""
