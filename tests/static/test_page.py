"""The page at /, in a real browser. Skipped where there is none."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from conftest import PATIENCE, Served, served, wait_for
from test_shape_texts import SHAPES

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

EINOPS = 'op=einops.repeat&input=2,3&pattern=h w -> (h 2) w c&axes_lengths={"c":3}'
INTEGERS = "it takes only known sizes"
COMPARISON = "op=compare&input=1,3&shape=2,-1"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
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
        """Type an op, or its alias, into the field with the list of ops."""
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


def test_each_op_answers_its_example_and_says_it_in_python_and_curl(page: Page, http: httpx.Client) -> None:
    page.ask("")
    ops = http.get("/v1/ops").json()["ops"]
    names = [entry["name"] for entry in ops]
    listed = [name for entry in ops for name in (entry["name"], *entry["aliases"])]
    assert page.tab.eval_on_selector_all("#ops option", "all => all.map(one => one.value)") == ["compare", *listed]
    for name in names:
        page.choose(name)
        page.settle()
        assert page.text("#verdict").startswith(("✓ Broadcasts", "✓ Fits: the result is")), name
        page.tab.select_option("#as", "Text")
        page.settle()
        drawing = [line.rstrip() for line in page.text("#code").splitlines()]
        page.tab.select_option("#as", "Python")
        page.settle()
        with redirect_stdout(StringIO()) as printed:
            exec(page.text("#code"), {})
        assert printed.getvalue().splitlines()[: len(drawing)] == drawing, name
        page.tab.select_option("#as", "curl")
        page.settle()
        (url,) = re.fullmatch("curl '(.*)'", page.text("#code")).groups()  # type: ignore[union-attr]
        assert http.get(url).text.splitlines()[: len(drawing)] == drawing, name


HINTS = {
    "input=1,40,23,256&input=1,23,40,256": ["swap axes 1 and 2 of input 0: (1, 23, 40, 256) fits"],
    "input=64&input=32,64,56,56": ["reshape input 0 to (64, 1, 1), x[:, None, None]: it then fits"],
    'input=4,N&input=N,4&assume={"N":"5..9"}': ["swap axes 0 and 1 of input 0: (N, 4) fits"],
    "op=torch.expand&input=1,3&size=3": [
        "drop the leading axes of size 1 of input 0: (3,) fits",
        "openvino.Broadcast-3 in mode bidirectional, where the target stretches too, fits: the output is (1, 3)",
    ],
    "op=numpy.broadcast_to&input=1,3&shape=2,-1": [
        "write shape=(2, 3): numpy.broadcast_to does not accept -1",
        "mindspore.broadcast_to takes this target: there -1 keeps the input's size, (2, 3)",
    ],
    "op=openvino.Broadcast-1&mode=pdpd&input=4&target_shape=3,4": [
        "numpy.broadcast_to with shape=(3, 4) fits: the output is (3, 4)",
        "ngraph.Broadcast with broadcast_axes=[0] fits: the output is (3, 4)",
        "openvino.Broadcast-3 in mode explicit with axes_mapping=[1] fits: the output is (3, 4)",
    ],
    "op=openvino.Broadcast-3&mode=explicit&input=3&target_shape=3,4&axes_mapping=1": [
        "ngraph.Broadcast with broadcast_axes=[1] fits: the output is (3, 4)",
        "in mode explicit with axes_mapping=[0] fits: the output is (3, 4)",
    ],
    "op=openvino.Broadcast-3&input=3,1&target_shape=1,4": [
        "in mode bidirectional, where the target stretches too, fits: the output is (3, 4)"
    ],
    "op=ngraph.BroadcastLike&input=2&input=2,3&initial_broadcast_axes=0": ["initial_broadcast_axes=[1] fits"],
}
"""Questions that do not broadcast, and their hints: every form that hints.py has."""


def test_each_form_of_hint_leads_to_a_question_that_broadcasts(page: Page) -> None:
    for query, hints in HINTS.items():
        page.ask(query)
        assert page.texts(".hint li span") == hints
        for hint in hints:
            page.tab.get_by_role("link", name=f"Apply: {hint}", exact=True).click()
            page.settle()
            assert page.text("#verdict").startswith("✓"), (query, hint)
            assert ("assume=" in page.query()) == ("assume=" in query)  # what is known of a name stays known
            reached = re.search(r"the output is (\(.*\))$", hint)
            if reached:
                assert page.text("#verdict") == f"✓ Broadcasts to {reached[1]}"
            page.tab.go_back()
            page.tab.locator("#verdict.no").wait_for()


def test_a_warning_leads_to_what_was_meant(page: Page) -> None:
    page.ask("input=N&input=N,1")
    hint = "a[:, None] has shape (N, 1): the output is (N, 1)"
    assert page.text("#verdict") == "⚠ Broadcasts to (N, N): probably not what you want"
    assert page.text("#message").startswith("(N,) with (N, 1) broadcasts to (N, N)")
    assert page.texts(".hint li span") == [hint]
    page.tab.get_by_role("link", name="Apply").click()
    page.settle()
    assert page.query() == "op=numpy.broadcast_arrays&input=N,1&input=N,1"
    assert page.texts("#fixes li") == page.texts(".warning li") == []
    page.ask("op=compare&input=5&input=5,1")
    ops = [text.splitlines()[0] for text in page.texts("tbody th")]
    rows = dict(zip(ops, page.texts("tbody td"), strict=True))
    assert rows["torch.broadcast_tensors"] == "✓ (5, 5) square"


def test_a_switch_shows_the_warnings_of_correct_code_and_the_link_remembers_it(page: Page) -> None:
    page.ask("op=numpy.add&input=3,1&input=4")
    assert page.texts(".warning li") == []
    page.tab.get_by_text("Options").click()
    page.tab.get_by_label("All warnings").check()
    page.settle()
    assert page.query() == "op=numpy.add&input=3,1&input=4&warn=mutual-stretch&warn=rank-promotion"
    assert [text.split(":")[0].split(" of")[0] for text in page.texts(".warning li")] == [
        "(3, 1) with (4,) broadcasts to (3, 4)",
        "Input 1",
    ]
    page.tab.reload()  # as another who has the link
    page.settle()
    assert page.tab.get_by_label("All warnings").is_checked()
    assert len(page.texts(".warning li")) == 2
    page.tab.select_option("#as", "Python")
    page.settle()
    assert 'warn=["mutual-stretch", "rank-promotion"], explain=True)' in page.text("#code")
    page.choose("compare")  # which another op and the comparison keep
    page.settle()
    assert page.query().endswith("&warn=mutual-stretch&warn=rank-promotion")
    rows = dict(zip((text.split()[0] for text in page.texts("tbody th")), page.texts("tbody td"), strict=True))
    assert rows["torch.broadcast_tensors"] == "✓ (3, 4) mutual-stretch rank-promotion"
    page.tab.get_by_label("All warnings").uncheck()
    page.settle()
    assert page.query() == "op=compare&input=3,1&input=4"
    rows = dict(zip((text.split()[0] for text in page.texts("tbody th")), page.texts("tbody td"), strict=True))
    assert rows["torch.broadcast_tensors"] == "✓ (3, 4)"
    page.ask("op=numpy.add&input=3,1&input=4&warn=stretch")
    assert page.text("#error-warn").startswith("Must be 'square', 'mutual-stretch' or 'rank-promotion'")
    page.complaints.clear()  # the browser logs each status of 400 or more


def test_an_example_keeps_the_switch(page: Page) -> None:
    page.ask("warn=mutual-stretch&warn=rank-promotion")
    page.choose("ngraph.Broadcast")
    page.settle()
    assert page.query() == (
        "op=ngraph.Broadcast&input=3&shape=2,3&broadcast_axes=0&warn=mutual-stretch&warn=rank-promotion"
    )


def test_a_hint_links_to_its_request_whatever_its_words_say(page: Page) -> None:
    """Advice, which has no request, is no link; nor is an op that the catalogue lacks."""
    texts = ["give it up", "other.op with shape=(3, 4) fits", "numpy.broadcast_to with shape=(3, 3) fits"]
    ops = [None, {"name": "other.op", "shape": [3, 4]}, {"name": "numpy.broadcast_to", "shape": [2, 3]}]
    hints = [{"text": text, "op": op, "inputs": [[3]]} for text, op in zip(texts, ops, strict=True)]
    conflict = {"code": "size-mismatch", "message": "No.", "hints": hints}
    page.tab.route("**/v1/check?*", lambda route: route.fulfill(json={"compatible": False, "conflict": conflict}))
    page.ask("op=numpy.broadcast_to&input=3&shape=3,4&dtype=int8")
    assert page.texts(".hint li span") == texts
    (link,) = page.tab.locator(".hint li a").all()
    assert link.get_attribute("href") == "?op=numpy.broadcast_to&input=3&shape=2,3&dtype=int8"


def test_a_comparison_is_held_in_the_link_and_a_row_asks_its_op(page: Page) -> None:
    page.ask(COMPARISON)
    fits, refused = "✓ (2, 3) replicated along axis 0", "✗ invalid-dimension"
    ops, verdicts = ([text.splitlines()[0] for text in page.texts(f"tbody {cell}")] for cell in ("th", "td"))
    answered = dict(zip(ops, verdicts, strict=True))
    told = {
        "numpy.broadcast_to": refused,
        "mindspore.broadcast_to": fits,
        "poputil.broadcastToMatch": refused,
        "openvino.Broadcast-1 numpy": refused,
        "onnx.Expand": refused,
        "torch.expand": fits,
        "tensorflow.broadcast_to": refused,
        "paddle.expand": fits,
    }
    assert told.items() <= answered.items()
    listed = page.text("#code").splitlines()  # a line for each op
    count = sum(bool(re.search(" (yes|no) ", line)) for line in listed)
    verdict = f"{sum(' yes  ' in line for line in listed)} of {count} broadcast"
    if count < len(listed):
        verdict += f", {len(listed) - count} skipped"
    assert page.text("#verdict") == verdict
    assert re.search(r"^torch\.expand +yes  \(2, 3\)$", page.text("#code"), re.MULTILINE)
    page.tab.locator("tbody td").nth(3).click(force=True)  # the row, over which the link lies
    page.settle()
    assert page.query() == "op=openvino.Broadcast-1&input=1,3&target_shape=2,-1"
    page.ask(COMPARISON)
    page.tab.get_by_role("link", name="openvino.Broadcast-3").nth(1).click()
    page.settle()
    assert page.query() == "op=openvino.Broadcast-3&input=1,3&mode=bidirectional&target_shape=2,-1"
    page.tab.get_by_role("link", name="Compare all frameworks").focus()
    page.tab.keyboard.press("Enter")
    page.settle()
    assert page.query() == COMPARISON
    assert page.text("#verdict") == verdict


def cells(page: Page, panel: int) -> list[str]:
    """The labels in the front plane of a panel: the inputs in their order, then the output."""
    labels = page.texts(f"#picture .joined:nth-child({panel}) [role=grid] td")
    return [" ".join(label.split()) for label in labels]


def test_each_cell_of_the_output_says_what_it_reads_and_lights_it(page: Page) -> None:
    page.ask("")
    assert cells(page, 1) == ["a0"] * 4 + ["a1"] * 4 + ["a2"] * 4
    assert cells(page, 2) == ["b0", "b1", "b2", "b3"] * 3
    assert cells(page, 3) == [f"a{row} b{column}" for row in range(3) for column in range(4)]
    assert page.text(".say") == "a is repeated along axis 1 and b along axis 0."
    page.tab.locator(".output td").nth(6).hover()
    assert page.text(".say") == "Output [1, 2] reads a[1, 0] and b[0, 2]."
    lit = page.tab.eval_on_selector_all("td.lit", "all => all.map(one => one.innerText.trim().split(/\\s+/).join(' '))")
    assert lit == ["a1", "a1", "b2", "b2", "a1 b2"]  # each element, and its copy where it is read
    page.tab.locator(".output td").first.focus()
    page.tab.keyboard.press("ArrowDown")
    page.tab.keyboard.press("ArrowRight")
    assert page.text(".say") == "Output [1, 1] reads a[1, 0] and b[0, 1]."
    page.tab.locator(".joined td").nth(5).click()  # a copy: those that share its element
    assert page.text(".say") == "a[1, 0] again, repeated along axis 1: 4 outputs read it."
    assert page.tab.locator(".output .lit").count() == 4
    page.tab.get_by_role("button", name="axis 1", exact=True).focus()
    assert page.text(".say") == "Axis 1: a has 1, which is stretched; b has 4."
    assert cells_lit(page, ".output") == ["a0 b0", "a0 b1", "a0 b2", "a0 b3"]


def cells_lit(page: Page, where: str) -> list[str]:
    return [" ".join(label.split()) for label in page.texts(f"{where} .lit")]


def test_planes_of_merged_axes_are_chosen_and_named(page: Page) -> None:
    page.ask(EINOPS)
    assert page.texts(".axes .name") == ["h", "2", "w", "c"]
    assert page.text(".say") == "a is repeated along the 2 of axis 0 and c."
    assert cells(page, 1) == ["a00"] * 3 + ["a01"] * 3 + ["a02"] * 3  # w down, c to the right
    page.tab.get_by_role("group", name="Place on output axis 0").get_by_role("button", name="1").click()
    assert cells(page, 1) == ["a00"] * 3 + ["a01"] * 3 + ["a02"] * 3  # the second copy of the same h
    assert page.tab.locator("#picture .joined:nth-child(1) [role=grid] td.new").count() == 9
    page.tab.get_by_role("group", name="Place on output axis 0").get_by_role("button", name="2").click()
    assert cells(page, 2) == ["a10", "a10", "a10", "a11", "a11", "a11", "a12", "a12", "a12"]


NUMBERS = {
    "a b -> a 2 b 2": "a is repeated along the 2 of axis 1 and the 2 of axis 3.",
    "a b -> (2 a 2) b": "a is repeated along the first 2 of axis 0 and the second 2 of axis 0.",
    "a b -> a b 1": "a is not repeated.",
}


@pytest.mark.parametrize("pattern", NUMBERS)
def test_a_number_of_a_pattern_is_named_by_its_axis(page: Page, pattern: str) -> None:
    page.ask(f"op=einops.repeat&input=2,3&pattern={pattern}")
    assert page.text(".say") == NUMBERS[pattern]


def test_a_translation_that_fails_in_the_release_says_so(page: Page) -> None:
    page.ask("op=numpy.broadcast_to&input=()&shape=()")
    page.tab.select_option("#as", "openvino.Broadcast-3")
    page.settle()
    assert "opset3" in page.text("#code")
    assert "crashes on a scalar" in page.text("#code-note")
    page.tab.select_option("#as", "numpy.broadcast_to")
    page.settle()
    assert page.text("#code-note") == ""


def test_a_conflict_shows_its_column_and_its_fix_above_the_drawing(page: Page) -> None:
    page.ask("op=torch.add&input=2,64,7,7&input=64")
    assert page.texts(".drawing [role=grid]") == []
    assert page.texts(".axes .conflict b") == ["7", "64"]
    for width in (1280, 390):
        page.tab.set_viewport_size({"width": width, "height": 800})
        top = "selector => document.querySelector(selector).getBoundingClientRect().bottom"
        assert page.tab.evaluate(top, ".apply") < 800  # in the first viewport
    page.tab.get_by_role("link", name="Apply").click()
    page.settle()
    assert page.text("#verdict") == "✓ Broadcasts to (2, 64, 7, 7)"
    assert page.tab.eval_on_selector("#inputs-1", "control => control.value") == "64,1,1"


def test_an_emptied_field_is_not_a_scalar(page: Page) -> None:
    page.ask("input=3&input=()")
    assert page.text("#verdict") == "✓ Broadcasts to (3,)"
    page.tab.fill("#inputs-1", "")
    page.settle()
    assert page.text("#verdict") == "Invalid input"
    assert page.text("#error-inputs-1").startswith("Write a shape as 8,1,6,1")


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
    assert page.query() == "op=openvino.Broadcast-3&input=3,1&target_shape=3,4"  # which has no mode pdpd
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
    assert page.texts(".condition li") == ["N == 4"]
    page.tab.select_option("#as", "Python")
    page.settle()
    assert 'assume={"N": "2..", "M": 4}' in page.text("#code")
    page.tab.get_by_role("link", name="Compare all frameworks").click()
    page.settle()
    assert page.query() == "op=compare&input=N,1&input=M,3&assume=N=2..,M=4"
    assert page.texts("tbody td")[0].split("\n\n") == ["(4, 3)", "if N == 4"]
    assert 'assume={"N": "2..", "M": 4}' in page.text("#code")


MISTAKES = {
    "input=8,1&input=8,a!": (
        "inputs-1",
        "'a!' is not a size. Write a shape as 8,1,6,1 or 8x1x6x1, a scalar as (), and symbolic sizes as N,?,2..8",
    ),
    "input=8,1&input=3,-1": ("inputs-1", "Axis 1 must not be negative: a size is 0 or more"),
    "input=N&assume=M=2..": ("field-assume", "No size here has this name: the names are N"),
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
        assert page.text(f"#error-{field}").startswith(words)
        assert page.tab.locator("[aria-invalid]").count() == 1
        assert words not in page.text("#answer")
        assert [text for text in page.texts(".error") if text] == [page.text(f"#error-{field}")]
    page.complaints.clear()  # the browser's own, of answers that are problems


def test_a_link_may_name_an_alias(page: Page) -> None:
    for alias, rule in {"torch.mul": "torch.add", "np.add": "numpy.add"}.items():
        page.ask(f"op={alias}&input=3,1&input=4")
        assert page.tab.eval_on_selector("#op", "control => control.value") == alias
        assert page.text("#doc").startswith("Broadcast two")
        assert page.tab.locator("#doc a").last.get_attribute("href") == f"ops#{rule}"
        assert page.tab.locator("#add").is_hidden()  # it takes two inputs
        page.tab.locator("#picture button", has_text="+").last.click()
        page.settle()
        assert page.query() == f"op={alias}&input=3,1&input=5"


def test_symbolic_sizes_are_compared_with_their_conditions(page: Page) -> None:
    page.ask("input=N,3&input=N,4")
    assert page.text("#verdict") == "✗ Does not broadcast"
    assert page.texts(".axes .conflict b") == ["3", "4"]
    page.ask("input=N,1&input=M,3")
    page.tab.get_by_role("link", name="Compare all frameworks").click()
    page.settle()
    assert page.query() == "op=compare&input=N,1&input=M,3"
    assert re.fullmatch(r"1 of \d+ broadcast, \d+ for some sizes", page.text("#verdict"))
    assert page.texts("tbody td")[0].split("\n\n") == ["(?, 3)", "if N == M or N == 1 or M == 1"]
    page.ask("op=compare&input=N,3&shape=M,3")
    assert page.texts("tbody tr")[-1].split("\t") == ["mxnet.broadcast_to", f"skipped: {INTEGERS}"]
    assert re.search(f"^mxnet.broadcast_to +-    skipped: {INTEGERS}$", page.text("#code"), re.MULTILINE)


def test_code_is_copied_and_selected_where_there_is_no_clipboard(page: Page) -> None:
    page.ask("op=stablehlo.broadcast_in_dim&input=1,3&shape=2,3,2&broadcast_dimensions=2,1")
    page.tab.select_option("#as", "torch.expand")
    page.settle()
    code = "# x has shape (1, 3)\nimport torch\n\nt1 = x.reshape((3, 1))\ny = t1.expand((2, 3, 2))"
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


def test_nothing_is_wider_than_a_phone(page: Page) -> None:
    page.tab.set_viewport_size({"width": 320, "height": 640})
    for query in ("", COMPARISON, EINOPS, "op=onnx.Expand&input=3,1&shape=2,1,6", *HINTS):
        page.ask(query)
        assert page.tab.evaluate("document.documentElement.scrollWidth") == 320, query


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
    tab.goto(f"{service.url}/outer")
    tab.wait_for_timeout(500)
    assert [frame.url.startswith(service.url) for frame in tab.frames[1:]] == list(paths.values())
    tab.close()


PASTED = """(text) => {
  const data = new DataTransfer();
  data.setData("text", text);
  const event = new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true});
  document.querySelector("#inputs-0").dispatchEvent(event);
}"""
ERROR = "ValueError: operands could not be broadcast together with shapes (2,64,7,7) (64,)"


@pytest.mark.parametrize("way", ["pasted", "pasted with its traceback", "typed"])
def test_an_error_message_in_place_of_a_shape_becomes_its_question(page: Page, way: str) -> None:
    page.ask("op=torch.add&input=3&input=4")
    if way == "typed":
        page.tab.fill("#inputs-0", ERROR)
    else:
        before = "Traceback (most recent call last):\n" if "traceback" in way else ""
        page.tab.evaluate(PASTED, f"{before}{ERROR}\n")
    page.tab.get_by_text("Read from the error").wait_for()
    page.settle()
    assert [page.tab.input_value(f"#inputs-{number}") for number in (0, 1)] == ["2,64,7,7", "64"]
    assert page.text("#why").startswith("Read from the error: numpy.add can't broadcast (2, 64, 7, 7) and (64,).")
    assert page.query() == "op=numpy.add&input=2,64,7,7&input=64"
    page.tab.fill("#inputs-1", "64,1,1")
    page.settle()
    assert page.text("#why") == "You can also paste an error message into a shape."


def test_an_error_message_without_shapes_says_what_it_is_about(page: Page) -> None:
    page.ask("op=torch.add&input=3&input=4")
    page.tab.evaluate(PASTED, "RuntimeError: shape '[4, 2]' is invalid for input of size 6")
    page.tab.get_by_text("An error message", exact=True).wait_for()
    assert page.text("#message").startswith("This is about a reshape")
    assert page.tab.input_value("#inputs-0") == "3"


def test_several_lines_of_shapes_are_still_several_inputs(page: Page) -> None:
    page.ask("op=numpy.broadcast_arrays&input=3&input=4")
    page.tab.evaluate(PASTED, "torch.Size([8, 1])\nx: (1, 3)\n")
    page.settle()
    assert page.tab.input_value("#inputs-0") == "torch.Size([8, 1])"
    assert page.text("#why") == "You can also paste an error message into a shape."


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
