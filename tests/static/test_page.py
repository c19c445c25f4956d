"""The page at /: verdicts, hints, warnings and comparisons."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from page_in_browser import Page

pytest_plugins = ["page_in_browser"]


def reasons(page: Page) -> dict[tuple[str, str], list[str]]:
    """Return the ops for each verdict and reason of a comparison."""
    script = """all => all.flatMap(item => [...item.querySelectorAll("p")].map(one => {
      const nodes = [...one.childNodes], texts = nodes.map(node => node.textContent);
      const ops = [...one.querySelectorAll("a")];
      const reason = texts.slice(0, nodes.indexOf(ops[0])).join("").replace(/: $/, "");
      return [item.querySelector("b").textContent, reason, ops.map(op => op.textContent)];
    }))"""
    found = page.tab.eval_on_selector_all(".comparison li", script)
    return {(verdict, reason): ops for verdict, reason, ops in found}


EINOPS = 'op=einops.repeat&input=2,3&pattern=h w -> (h 2) w c&axes_lengths={"c":3}'
INTEGERS = "It takes only known sizes"
COMPARISON = "op=compare&input=1,3&shape=2,-1"


def test_an_op_with_each_set_of_attributes_answers_its_example(page: Page, http: httpx.Client) -> None:
    page.ask("")
    ops = http.get("/v1/ops").json()["ops"]
    names = {str([sorted(entry["attributes"]["properties"]), entry["inputs"]]): entry["name"] for entry in ops}
    assert len(names) > 25
    for name in names.values():
        page.choose(name)
        page.settle()
        assert page.text("#verdict").startswith(("✓ Broadcasts", "✓ Fits: the result is")), name


def test_the_python_and_the_curl_of_each_framework_print_the_same(page: Page, http: httpx.Client) -> None:
    page.ask("")
    firsts = {entry["name"].split(".")[0]: entry["name"] for entry in http.get("/v1/ops").json()["ops"]}
    assert len(firsts) > 20
    for name in firsts.values():
        page.choose(name)
        page.settle()
        page.tab.select_option("#as", "Python")
        with redirect_stdout(StringIO()) as printed:
            exec(page.text("#code"), {})
        page.tab.select_option("#as", "curl")
        (url,) = re.fullmatch("curl '(.*)'", page.text("#code")).groups()  # type: ignore[union-attr]
        assert "\ncompatible" in printed.getvalue(), name
        assert http.get(url).text == printed.getvalue(), name


HINTS = [
    "input=1,40,23,256&input=1,23,40,256",
    "input=64&input=32,64,56,56",
    'input=4,N&input=N,4&assume={"N":"5..9"}',
    "op=torch.expand&input=1,3&size=3",
    "op=numpy.broadcast_to&input=1,3&shape=2,-1",
    "op=openvino.Broadcast-1&mode=pdpd&input=4&target_shape=3,4",
    "op=openvino.Broadcast-3&mode=explicit&input=3&target_shape=3,4&axes_mapping=1",
    "op=openvino.Broadcast-3&input=3,1&target_shape=1,4",
    "op=ngraph.BroadcastLike&input=2&input=2,3&initial_broadcast_axes=0",
]
"""Questions that do not broadcast: every form of hint that hints.py has."""


def test_each_form_of_hint_leads_to_a_question_that_broadcasts(page: Page) -> None:
    for query in HINTS:
        page.ask(query)
        hints = page.texts(".hint li > span")
        assert hints
        for hint in hints:
            page.tab.get_by_role("link", name=f"Apply: {hint}", exact=True).click()
            page.settle()
            assert page.text("#verdict").startswith("✓"), (query, hint)
            assert ("assume=" in page.query()) == ("assume=" in query)  # what is known of a name stays known
            reached = re.search(r"the result is (\(.*\))$", hint)
            if reached:
                assert page.text("#verdict") == f"✓ Broadcasts to {reached[1]}"
            page.tab.go_back()
            page.tab.locator("#verdict.no").wait_for()


def test_a_warning_leads_to_what_was_meant(page: Page) -> None:
    page.ask("input=N&input=N,1")
    assert page.text("#verdict") == "⚠ Broadcasts to (N, N): probably not what you want"
    message = page.text("#message")
    assert [shape for shape in ("(N,)", "(N, 1)", "(N, N)") if shape not in message] == []
    (hint,) = page.texts(".hint li > span")
    assert "b.squeeze(-1)" in hint
    page.tab.get_by_role("link", name="Apply").click()
    page.settle()
    assert page.query() == "op=numpy.broadcast_arrays&input=N&input=N"
    assert page.texts("#fixes li") == page.texts(".warning li") == []
    page.ask("op=compare&input=5&input=5,1")
    assert "torch.broadcast_tensors" in reasons(page)["✓ (5, 5)", "square"]


def test_a_switch_shows_the_warnings_of_correct_code_and_the_link_remembers_it(page: Page) -> None:
    page.ask("op=numpy.add&input=3,1&input=4")
    assert page.texts(".warning li") == []
    page.tab.get_by_text("Options").click()
    page.tab.get_by_label("All warnings").check()
    page.settle()
    assert page.query() == "op=numpy.add&input=3,1&input=4&warn=mutual-stretch&warn=rank-promotion"
    assert [text.split(":")[0].split(" of")[0] for text in page.texts(".warning li")] == ["Input 0", "Input 1"]
    page.tab.reload()  # as another who has the link
    page.settle()
    assert page.tab.get_by_label("All warnings").is_checked()
    assert len(page.texts(".warning li")) == 2
    page.tab.select_option("#as", "Python")
    page.settle()
    assert 'warn=["mutual-stretch", "rank-promotion"])' in page.text("#code")
    page.choose("compare")  # which another op and the comparison keep
    page.settle()
    assert page.query().endswith("&warn=mutual-stretch&warn=rank-promotion&as=Python")
    assert "torch.broadcast_tensors" in reasons(page)["✓ (3, 4)", "mutual-stretch, rank-promotion"]
    page.tab.get_by_label("All warnings").uncheck()
    page.settle()
    assert page.query() == "op=compare&input=3,1&input=4&as=Python"
    assert "torch.broadcast_tensors" in reasons(page)["✓ (3, 4)", ""]
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
    ops = [{"name": "other.op", "shape": [3, 4]}, {"name": "numpy.broadcast_to", "shape": [2, 3]}]
    requests = [{}, *({"request": {"op": op, "inputs": [[3]]}} for op in ops)]
    hints = [{"code": "other-op", "message": text} | more for text, more in zip(texts, requests, strict=True)]
    conflict = {"code": "size-mismatch", "message": "No.", "hints": hints}
    answer = {
        "compatible": False,
        "conflict": conflict,
        "drawing": {"kind": "no", "verdict": "No", "message": "No.", "fixes": texts},
    }
    page.tab.route("**/v1/check?*", lambda route: route.fulfill(json=answer))
    page.ask("op=numpy.broadcast_to&input=3&shape=3,4&dtype=int8")
    assert page.texts(".hint li > span") == texts
    (link,) = page.tab.locator(".hint li a").all()
    assert link.get_attribute("href") == "?op=numpy.broadcast_to&input=3&shape=2,3&dtype=int8"


def test_a_comparison_is_held_in_the_link_and_lists_ops_with_the_same_result_together(page: Page) -> None:
    page.ask(COMPARISON)
    results = reasons(page)
    fits = results["✓ (2, 3)", "copied along axis 0 (-1 keeps the input's size)"]
    assert {"mindspore.broadcast_to", "torch.expand", "paddle.expand"} <= {*fits}
    negative = "shape=(2, -1) has -1 on axis 1, but the op does not accept -1 as a size"
    refused = {"numpy.broadcast_to", "poputil.broadcastToMatch", "onnx.Expand", "tensorflow.broadcast_to"}
    assert refused <= {*results["✗ Does not broadcast", negative]}
    assert page.texts(".comparison summary b") == ["✓ (2, 3)", "✗ Does not broadcast"]
    assert page.text(".comparison li:first-child .help").split(", ") == ["mindspore", "torch", "paddle", "tinygrad"]
    assert page.text("#verdict").startswith(f"{len(fits)} of ")
    assert page.tab.locator(".comparison a:visible").count() == 0
    page.tab.locator("summary", has_text="✗").click()
    page.tab.get_by_role("link", name="openvino.Broadcast-1 numpy").click()
    page.settle()
    assert page.query() == "op=openvino.Broadcast-1&input=1,3&target_shape=2,-1"
    page.ask(COMPARISON)
    page.tab.locator("summary", has_text="✗").click()
    page.tab.get_by_role("link", name="openvino.Broadcast-3 bidirectional").click()
    page.settle()
    assert page.query() == "op=openvino.Broadcast-3&input=1,3&mode=bidirectional&target_shape=2,-1"


def test_symbolic_sizes_are_compared_with_their_conditions(page: Page) -> None:
    page.ask("input=N,3&input=N,4")
    assert page.text("#verdict") == "✗ Does not broadcast"
    assert page.tab.eval_on_selector_all("tspan.no", "all => all.map(one => one.textContent)") == ["3", "4"]
    page.ask("input=N,1&input=M,3")
    page.tab.get_by_role("link", name="Compare all frameworks").click()
    page.settle()
    assert page.query() == "op=compare&input=N,1&input=M,3"
    assert re.fullmatch(r"1 of \d+ ops broadcast, \d+ for some sizes, 1 skipped", page.text("#verdict"))
    assert "numpy.broadcast_arrays" in reasons(page)["(?, 3) for some sizes", "if N == M or N == 1 or M == 1"]
    page.ask("op=compare&input=N,3&shape=M,3")
    assert reasons(page)["Skipped", INTEGERS] == ["mxnet.broadcast_to"]


def test_a_check_with_conditions_shows_its_hint_and_the_sizes_of_the_axes(page: Page) -> None:
    page.ask("op=onnx.Add&input=N,C,H,W&input=C")
    assert page.text("#verdict") == "Broadcasts to (N, C, H, ?) only if W == C or W == 1 or C == 1"
    assert page.texts(".condition li") == ["output axis 3 has size C if W == 1, else W"]
    page.tab.locator(".hint li a").click()
    page.settle()
    assert page.query() == "op=onnx.Add&input=N,C,H,W&input=C,1,1"
    assert page.text("#verdict") == "✓ Broadcasts to (N, C, H, W)"


def test_nothing_is_wider_than_a_phone(page: Page) -> None:
    page.tab.set_viewport_size({"width": 320, "height": 640})
    for query in ("", COMPARISON, EINOPS, "op=onnx.Expand&input=3,1&shape=2,1,6", *HINTS):
        page.ask(query)
        assert page.tab.evaluate("document.documentElement.scrollWidth") == 320, query


def test_the_bytes_and_the_names_of_an_output_are_listed(page: Page) -> None:
    page.ask("op=numpy.add&input=3,1&input=4&dtype=float32")
    assert page.texts(".output li") == ["(3, 4): 12 elements, 48 bytes"]
    page.ask("op=numpy.broadcast_arrays&input=3,1&input=4")
    assert page.texts("#details h2") == []


def test_typing_adds_no_steps_and_the_back_button_returns_to_the_last_link(page: Page) -> None:
    page.ask("op=numpy.add&input=3,1&input=4")
    steps = page.tab.evaluate("history.length")
    page.tab.fill("#inputs", "3,1 5")
    page.settle()
    assert page.query() == "op=numpy.add&input=3,1&input=5"
    assert page.tab.evaluate("history.length") == steps
    page.tab.get_by_role("link", name="Outer product").click()
    page.settle()
    assert page.query() == "op=numpy.add&input=3,1&input=4"
    page.tab.go_back()
    page.tab.get_by_text("✓ Broadcasts to (3, 5)").wait_for()
    assert page.tab.input_value("#inputs") == "(3, 1) (5,)"


def test_the_link_contains_the_form_of_the_code(page: Page) -> None:
    page.ask("op=einops.repeat&input=2,3&pattern=h w -> (h 2) w")
    page.tab.select_option("#as", "Python")
    assert page.query() == "op=einops.repeat&input=2,3&pattern=h w -> (h 2) w&as=Python"
    call = 'client.check("einops.repeat", (2, 3), pattern="h w -> (h 2) w")'
    assert call in page.text("#code")
    page.tab.reload()
    page.settle()
    assert page.tab.input_value("#as") == "Python"
    assert call in page.text("#code")
    page.ask("op=compare&input=N,1&input=()&assume=N=2..&as=Python")
    assert 'client.compare(("N", 1), (), assume={"N": "2.."})' in page.text("#code")


def test_a_busy_service_delays_the_list_of_ops_but_not_the_first_result(page: Page) -> None:
    """The page loads the list again after Retry-After, and repeats a check that was refused."""
    busy = {"status": 503, "headers": {"Retry-After": "1"}, "json": {"code": "overloaded", "detail": "Try again soon."}}
    page.tab.route("**/v1/ops", lambda route: route.fulfill(**busy), times=1)
    page.tab.route("**/v1/check?**", lambda route: route.fulfill(**busy), times=1)
    page.ask("input=2,1&input=3")
    assert (page.text("#verdict"), page.text("#message")) == ("No result", "Try again soon.")
    page.tab.get_by_text("✓ Broadcasts to (2, 3)").wait_for()
    page.tab.get_by_text("As in numpy").wait_for()
    page.complaints.clear()  # the browser logs each status of 400 or more


def test_a_product_of_equal_shapes_fits_and_does_not_claim_to_broadcast(page: Page) -> None:
    page.ask("op=numpy.matmul&input=3,3&input=3,3")
    assert page.text("#verdict") == "✓ Fits: the result is (3, 3)"


def test_a_comparison_marks_matrix_products_and_no_op_that_only_broadcasts(page: Page) -> None:
    page.ask("op=compare&input=2,3&input=3,3")
    assert "numpy.matmul" in reasons(page)["✓ Matrix product (2, 3)", ""]
    page.ask("op=compare&input=2,3&input=4,2,3")
    products = [ops for (verdict, _), ops in reasons(page).items() if "Matrix" in verdict]
    assert "poputil.expandToMatchRanks" not in str(products)
