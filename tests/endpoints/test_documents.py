"""Tests of the catalogue, the OpenAPI document and the pages: their content and their links."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import httpx
from http_requests import JSON, MSGPACK, post
from openapi_examples import example_responses

import axiscast_service
from axiscast import Client
from axiscast.ops import OPS
from axiscast.wire.problems import PROBLEM_KINDS, Problem
from axiscast_service.openapi import EXAMPLES


def test_the_catalogue_lists_every_op_and_each_example_is_a_check_that_fits(http: httpx.Client) -> None:
    entries = http.get("/v1/ops").json()["ops"]
    assert len(entries) == len(OPS)
    for entry in entries:
        assert http.get(f"/v1/ops/{entry['name']}").json() == entry
        assert http.post("/v1/check", json=entry["example"]).json()["compatible"] is True
        assert {"doc", "link", "outputs"} <= {key for key, value in entry.items() if value}
        assert entry["reference"].keys() == {"package", "version"}
    openvino = next(entry for entry in entries if entry["name"] == "openvino.Broadcast-1")
    assert openvino["attributes"]["required"] == ["target_shape"]
    assert openvino["attributes"]["properties"]["mode"]["enum"] == ["numpy", "explicit", "pdpd"]


def test_the_openapi_document_describes_both_encodings_and_its_examples_run(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {
        "/v1/check",
        "/v1/check/batch",
        "/v1/check/columns",
        "/v1/broadcast",
        "/v1/backprop",
        "/v1/compare",
        "/v1/translate",
        "/v1/why",
        "/v1/ops",
        "/v1/ops/{name}",
    }
    ran = 0
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert {JSON, MSGPACK} <= set(operation["responses"]["200"]["content"])
            for example in (
                operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("examples", {}).values()
            ):
                assert http.post(path, json=example["value"]).status_code == 200
                assert post(http, path, example["value"]).status_code == 200
                ran += 1
    assert ran == sum(map(len, EXAMPLES.values())) > 0


def test_the_openapi_document_has_the_response_to_the_first_example_of_each_operation(http: httpx.Client) -> None:
    shown = {
        f"{method} {path}": operation["responses"]["200"]["content"][JSON]["example"]
        for path, operations in http.get("/openapi.json").json()["paths"].items()
        for method, operation in operations.items()
    }
    assert shown == example_responses(http), "run python tests/openapi_examples.py"


def test_every_problem_code_is_explained_at_its_type_url_and_in_wire_md(http: httpx.Client) -> None:
    page = (Path(__file__).parents[2] / "docs" / "wire.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| ([0-9]{3}) \| (.+) \|$", page, re.MULTILINE)
    schemas = http.get("/openapi.json").json()["components"]["schemas"]
    assert [code for code, *_ in rows] == [*PROBLEM_KINDS] == schemas["ProblemDetails"]["properties"]["code"]["enum"]
    for code, status, title in rows:
        answer = http.get(Problem(code, "").document()["type"])
        assert answer.status_code == 200
        first, remedy = answer.text.splitlines()
        assert first == f"{status} {code}: {title}."
        assert remedy.endswith(".")
    assert "did you mean overloaded?" in http.get("/problems/overload").json()["detail"]


def test_every_reference_in_the_openapi_document_resolves(http: httpx.Client) -> None:
    text = http.get("/openapi.json").text
    schemas = json.loads(text)["components"]["schemas"]
    references = {part.split('"')[0] for part in text.split('"#/components/schemas/')[1:]}
    assert references <= set(schemas)
    assert {"CheckRequest", "BroadcastRequest", "Tensor", "ProblemDetails"} <= references


def test_clients_can_be_generated_from_the_openapi_document(http: httpx.Client) -> None:
    document = http.get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    assert len(schemas) <= 80
    assert len([name for name in schemas if name.startswith("OpWith")]) == 27
    assert all(schema["title"] == name for name, schema in schemas.items())
    assert len({name.lower() for name in schemas}) == len(schemas)
    assert all(name.isalnum() and name[0].isupper() for name in schemas)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert [operation["operationId"] for operation in operations] == [
        "check_in_url",
        "check",
        "check_batch",
        "check_columns",
        "broadcast",
        "backprop",
        "compare",
        "translate",
        "why",
        "ops",
        "op",
    ]
    assert {operation["operationId"] for operation in operations} - {"check_in_url", "op"} <= set(dir(Client))
    fields = [field for schema in schemas.values() for field in schema.get("properties", {}).values()]
    parameters = [parameter for operation in operations for parameter in operation.get("parameters", [])]
    assert len(fields) > 200
    assert all(place.get("description", "").endswith((".", "?")) for place in fields + parameters)
    assert not [field for field in fields if "default" in field]
    assert schemas["ProblemDetails"]["properties"]["conflict"]["anyOf"][0] == {
        "$ref": "#/components/schemas/ConflictAnswer"
    }
    assert schemas["OpWithShape"]["required"] == ["name", "shape"]
    assert "numpy.broadcast_to" in schemas["OpWithShape"]["properties"]["name"]["enum"]
    assert schemas["OpWithModeAndTargetShapeAndAxesMappingAndAxis"]["required"] == ["name", "target_shape"]
    assert schemas["CheckRequest"]["required"] == ["inputs"]
    assert http.get("/openapi.json").text.count('"discriminator"') == 1
    for word in (MSGPACK, "little-endian", "C order"):
        assert word in document["info"]["description"]


def test_the_pages_load_nothing_from_other_hosts(http: httpx.Client) -> None:
    for path in ("/", "/docs", "/ops"):
        page = http.get(path)
        assert page.status_code == 200
        assert page.headers["content-type"].startswith("text/html")
        assert 'src="http' not in page.text
        assert 'rel="stylesheet" href="http' not in page.text
        policy = page.headers["content-security-policy"].split("; ")
        assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= {*policy}
        assert "unsafe" not in page.headers["content-security-policy"]
    for asset in ("swagger-ui-bundle.js", "swagger-ui.css"):
        assert asset in http.get("/docs").text
        assert len(http.get(f"/docs/{asset}").content) > 100_000
    assert http.get("/docs/other.js").status_code == 404


def test_the_files_of_the_page_exist_and_are_cached(http: httpx.Client) -> None:
    types = {"": "text/html", "css": "text/css", "js": "text/javascript", "json": "application/json"}
    left, seen = ["/", "/docs", "/ops", "/openapi.json"], []
    for path in left:
        answer = http.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["content-type"].split(";")[0] == types[path.partition(".")[2]]
        assert answer.headers["cache-control"] == "no-cache"
        again = http.get(path, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", answer.headers["etag"])
        seen.append(answer.headers["etag"])
        named = re.findall(r'(?:href|src|from)(?:=| )"((?:static|docs|\.)/[\w-]+\.\w+)"', answer.text[:10_000])
        left += [part for part in (f"/{name.replace('./', 'static/')}" for name in named) if part not in left]
    assert len(set(seen)) == len(left)
    files = {file.name for file in (Path(axiscast_service.__file__).parent / "static").iterdir()}
    assert {path.rpartition("/")[2] for path in left if "static" in path} | {"index.html", "docs.html"} == files | {
        "picture.css"
    }
    for path in ("/static/other.js", "/static/index.html", "/static/..%2Fapp.py", "/static/"):
        assert http.get(path).status_code == 404


ANSWERS = {
    "numpy.broadcast_arrays": {"(2, 3) with (3,)": "✓ (2, 3)", "(2, 3) with (2,)": "✗ size-mismatch"},
    "julia.broadcast": {"(2, 3) with (3,)": "✗ size-mismatch", "(2, 3) with (2,)": "✓ (2, 3)"},
    "torch.expand": {"(3,): size = (2, -1)": "✓ (2, 3)", "(3,): size = (-1, 3)": "✗ invalid-dimension"},
    "tinygrad.expand": {"(3,): shape = (-1, 3)": "✓ (1, 3)", "(1, 3): shape = (3,)": "✓ (1, 3)"},
    "mxnet.broadcast_to": {"(2, 1): shape = (0, 3)": "✓ (2, 3)"},
    "onnx.Expand": {"(3, 1): shape = (1, 4)": "✓ (3, 4)"},
}
"""For some ops, requests whose results differ."""


def test_the_ops_page_has_each_op_with_an_example_and_its_differences(http: httpx.Client) -> None:
    page = http.get("/ops").text
    articles = dict(re.findall(r'<article id="(.*?)" data-names=".*?">(.*?)</article>', page, re.DOTALL))
    assert list(articles) == list(OPS)
    assert {name.partition(".")[0] for name in OPS} == set(re.findall(r'<a href="#(\w+)">', page))
    for name, article in articles.items():
        href, drawing = re.search(r'Example: <a href="\./\?(.*?)">.*?<pre.*?>(.*?)</pre>', article, re.DOTALL).groups()  # type: ignore[union-attr]
        assert http.get(f"/v1/check?{unescape(href)}&format=text").text.startswith(drawing), name
    for name, answers in ANSWERS.items():
        rows = dict(re.findall(r'row><a href=".*?">(.*?)</a></th><td><span class="\w+">(.*?)</span>', articles[name]))
        assert answers.items() <= rows.items(), name
    assert "Paddle 3.3 reads a target size below -1" in articles["paddle.expand"]


GALLERY = {
    "Bias on NCHW": False,
    "Scale for each channel": True,
    "Attention mask": True,
    "Loss of (N,) and (N, 1)": True,
    "Missing keepdims": False,
    "Pairwise distances": True,
    "Outer product": True,
    "einops.repeat": True,
    "OpenVINO axes_mapping": True,
    "nGraph broadcast_axes": True,
    "Symbolic sizes": None,
}


def test_each_example_of_the_gallery_has_an_answer(http: httpx.Client) -> None:
    gallery = http.get("/").text.partition('id="gallery"')[2]
    links = {unescape(text): unescape(query) for query, text in re.findall(r'<li><a href="\?(.*?)">(.*?)</a>', gallery)}
    assert links.pop("Compare frameworks") == "op=compare&input=1,3&shape=2,-1"
    assert {text: http.get(f"/v1/check?{query}").json()["compatible"] for text, query in links.items()} == GALLERY
