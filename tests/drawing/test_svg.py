"""Pictures are SVG documents without scripts. They show every element that is drawn, and are limited in size."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import httpx
import pytest
from cases import cases
from click.testing import CliRunner

import axiscast
from axiscast.cli import main

SVG = "{http://www.w3.org/2000/svg}"
BIAS = "operands could not be broadcast together with shapes (2,64,7,7) (64,)"


def texts(svg: str) -> list[str]:
    """Return the text of each text element, after a check that the document can run and load nothing."""
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    used = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert used <= {"svg", "title", "style", "defs", "linearGradient", "stop", "g", "rect", "path", "text", "tspan"}
    assert not [name for element in root.iter() for name in element.attrib if name.startswith("on") or "href" in name]
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def picture(answer: object) -> str:
    svg = answer._repr_svg_()  # type: ignore[attr-defined]
    assert isinstance(svg, str)
    return svg


def test_each_cell_names_the_element_that_it_reads() -> None:
    told = texts(picture(axiscast.check("numpy.add", (3, 1), (1, 4))))
    assert told[0] == "✓ Broadcasts to (3, 4)"
    cells = [text for text in told if text[0] in "ab" and text[1:].isdigit()]
    first = ["a0"] * 4 + ["a1"] * 4 + ["a2"] * 4
    second = ["b0", "b1", "b2", "b3"] * 3
    assert cells == [*first, *second, *(text for pair in zip(first, second, strict=True) for text in pair)]


@cases(
    ("answer", "copies"),
    [
        (lambda: axiscast.check("ngraph.Broadcast", (3,), shape=(2, 3), broadcast_axes=[0]), ["a0", "a1", "a2"]),
        (lambda: axiscast.check("numpy.broadcast_to", (2, 1), shape=(2, 2)), ["a0", "a1"]),
        (lambda: axiscast.check("einops.repeat", (2,), pattern="a -> (a 2)"), ["a0", "a1"]),
        (lambda: axiscast.check("einops.repeat", (2,), pattern="a -> (2 a)"), ["a0", "a1"]),
        (lambda: axiscast.check("numpy.add", (2,), (2,)), []),
    ],
)
def test_a_copy_is_grey(answer: object, copies: list[str]) -> None:
    root = ElementTree.fromstring(picture(answer()))  # type: ignore[operator]
    panel = next(root.iter(f"{SVG}defs"), None)
    assert panel is not None
    grey = [text.text for text in root.iter(f"{SVG}text") if text.get("class") == "soft" and text.get("font-size")]
    assert grey == copies


def test_merged_axes_read_the_elements_of_their_factors() -> None:
    told = texts(picture(axiscast.check("einops.repeat", (2,), pattern="a -> (a 2)")))
    assert [text for text in told if text in ("a0", "a1")] == ["a0", "a0", "a1", "a1"] * 2
    told = texts(picture(axiscast.check("einops.repeat", (2,), pattern="a -> (2 a)")))
    assert [text for text in told if text in ("a0", "a1")] == ["a0", "a1", "a0", "a1"] * 2


def test_a_conflict_has_its_fix_first_and_one_marked_column() -> None:
    svg = picture(axiscast.check("torch.add", (2, 64, 7, 7), (64,)))
    told = texts(svg)
    assert told[0] == "✗ Does not broadcast"
    assert [part for part in ("Fix: ", "(64, 1, 1)", "[:, None, None]") if part not in told[1]] == []
    assert svg.count('class="bad"') == 1
    marked = [
        text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}tspan") if "no" in text.get("class", "").split()
    ]
    assert marked == ["7", "64"]
    row = told.index("b")
    assert told[row : row + 5] == ["b", "new", "new", "new", "64"]
    cells = [text.text for text in ElementTree.fromstring(svg).iter(f"{SVG}text") if "marked" in text.get("class", "")]
    assert cells == ["a000", "a001", "a002", "a006", "b0", "b1", "b2", "b63"]  # the cells along the axis that conflicts


def test_the_answers_of_all_functions_have_a_picture() -> None:
    why = texts(picture(axiscast.why(BIAS)))
    assert why[0].startswith("Fix: ")
    assert "axis 3" in why
    op = axiscast.ngraph.Broadcast(shape=(2, 3), broadcast_axes={0})
    translation = texts(picture(axiscast.translate(op, (3,), to="torch.expand")))
    assert translation[0] == "Translated to torch.expand"
    assert translation[-1] == "y = x.expand((2, 3))"
    comparison = axiscast.compare((3, 1), (4,))
    assert any("(3, 4)" in text for text in texts(picture(comparison)))
    assert texts(picture(comparison[0]))[0] == "✓ Broadcasts to (3, 4)"
    assert texts(picture(axiscast.why("CUDA out of memory"))) != []


@cases(
    ("shapes", "note"),
    [
        ([(3, 1)] * 500 + [(4,)] * 500, "and 992 more inputs"),
        ([(2,) * 64, (1,) * 64], "and 52 more axes on the left"),
        ([("N" * 96, "M" * 96), ("K" * 96,)], "new → NNNNNNNNNNNNN…"),
        ([(10**18, 1), (1, 10**18)], "1 → 1000000000000…"),
        ([(0, 3), (1,)], "no elements"),
        ([(), ()], "output ()"),
    ],
)
def test_large_requests_have_small_pictures_that_say_what_is_missing(shapes: list[object], note: str) -> None:
    svg = picture(axiscast.check("numpy.broadcast_arrays", *shapes))
    assert note in texts(svg)
    assert len(svg) < 40_000
    width, height = (float(ElementTree.fromstring(svg).get(name, "")) for name in ("width", "height"))
    assert width < 1600
    assert height < 1200


def test_text_is_escaped() -> None:
    svg = picture(axiscast.check("einops.repeat", (2, 3), pattern='a <b>&"\x00 -> a'))
    assert any('<b>&"' in text for text in texts(svg))


def test_a_picture_follows_the_color_scheme() -> None:
    assert "@media(prefers-color-scheme:dark)" in picture(axiscast.check("numpy.add", (3,), (3,)))


@pytest.mark.parametrize(
    ("command", "first"),
    [
        (["check", "3,1", "1,4"], "✓ Broadcasts to (3, 4)"),
        (["compare", "3,1", "1,4"], "The results of"),
        (["translate", "3", "--op", "numpy.broadcast_to", "--shape", "2,3", "--to", "torch.expand"], "Translated to"),
        (["why", BIAS], "Fix: "),
    ],
)
def test_a_command_writes_its_picture(command: list[str], first: str, tmp_path: Path) -> None:
    plain = CliRunner().invoke(main, command)
    result = CliRunner().invoke(main, [*command, "--svg", str(tmp_path / "a.svg")])
    assert (result.output, result.exit_code) == (plain.output, plain.exit_code)
    assert texts((tmp_path / "a.svg").read_text(encoding="utf-8"))[0].startswith(first)


def test_a_picture_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["check", "3", "3", "--svg", str(tmp_path / "no" / "a.svg")])
    assert result.exit_code == 2
    assert "the picture can't be written" in result.output
    result = CliRunner().invoke(main, ["check", "--batch", "-", "--svg", "a.svg"], input="")
    assert "--svg can't be combined with --batch" in result.output


def test_http_returns_the_picture_that_the_library_draws(http: httpx.Client) -> None:
    drawn = picture(axiscast.check("torch.add", (3, 1), (1, 4)))
    query = {"op": "torch.add", "input": ["3,1", "1,4"]}
    body = {"op": "torch.add", "inputs": [[3, 1], [1, 4]]}
    responses = [
        http.get("/v1/check", params={**query, "format": "svg"}),
        http.get("/v1/check", params=query, headers={"Accept": "image/avif,image/svg+xml,image/*;q=0.8"}),
        http.post("/v1/check", params={"format": "svg"}, json=body),
        http.post("/v1/check", json=body, headers={"Accept": "image/svg+xml"}),
    ]
    for response in responses:
        assert response.status_code == 200
        assert response.headers["content-type"] == "image/svg+xml"
        assert response.text == drawn
        assert response.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
        assert response.headers["vary"] == "Accept"
    browser = http.get("/v1/check", params=query, headers={"Accept": "text/html,image/avif,*/*;q=0.8"})
    assert browser.headers["content-type"] == "application/json"
    invalid = http.get("/v1/check", params={"input": "-3", "format": "svg"}, headers={"Accept": "image/svg+xml"})
    assert (invalid.status_code, invalid.headers["content-type"]) == (422, "application/problem+json")
    named = http.get("/v1/check", params={**query, "format": "png"})
    assert named.json()["detail"] == "format: must be text, json or svg, not 'png'"
