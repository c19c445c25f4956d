"""The HTML page /problems/CODE: what a problem means, an example, and the fix."""

from __future__ import annotations

import json
from html import escape
from typing import NamedTuple

from axiscast.wire.problems import PROBLEM_KINDS

from .html_page import generated_page, marked_text


class ProblemExample(NamedTuple):
    """A request with a problem, the `detail` of its response, and the corrected request."""

    request: str
    detail: str
    fixed: str


_CHECK = 'POST /v1/check\n{"inputs": [[8, 1, 6, 1], [7, 1, 5]]}'
_TENSOR = '{"dtype": "int32", "shape": [3], "data": [1, 2, 3]}'
_BROADCAST = 'POST /v1/broadcast\n{"op": {"name": "numpy.broadcast_to", "shape": [%s]}, "inputs": [%s]%s}'
PROBLEM_EXAMPLES: dict[str, ProblemExample] = {
    "malformed-body": ProblemExample(
        _CHECK[:-2],
        "this is not JSON: it ends before all brackets and quotes are closed, so it may be truncated "
        "(Expecting ',' delimiter at byte 35)",
        _CHECK,
    ),
    "unauthenticated": ProblemExample(
        "GET /v1/ops", "this service requires an API key", "GET /v1/ops\nAuthorization: Bearer KEY"
    ),
    "not-found": ProblemExample(
        "GET /v1/chek?input=3&input=3",
        "the path /v1/chek does not exist: did you mean /v1/check? See /docs",
        "GET /v1/check?input=3&input=3",
    ),
    "method-not-allowed": ProblemExample(
        "GET /v1/translate",
        "/v1/translate takes POST, not GET",
        'POST /v1/translate\n{"op": {"name": "torch.expand", "size": [2, 3]}, "inputs": [[3]], "to": "onnx.Expand"}',
    ),
    "not-acceptable": ProblemExample(
        "GET /v1/ops\nAccept: image/png",
        "Accept (image/png) allows no supported media type: write one of application/json, application/vnd.msgpack, "
        "application/msgpack, application/x-msgpack, or */*",
        "GET /v1/ops\nAccept: application/json",
    ),
    "unsupported-media-type": ProblemExample(
        _CHECK.replace("\n", "\nContent-Type: application/xml\n"),
        "Content-Type application/xml is not supported: to send JSON, add the header Content-Type: application/json; "
        "the supported types are application/json, application/vnd.msgpack, application/msgpack, application/x-msgpack",
        _CHECK.replace("\n", "\nContent-Type: application/json\n"),
    ),
    "invalid-request": ProblemExample(
        'POST /v1/check\n{"inputs": [[3], ["a!"]]}',
        'inputs/1/0: must be an integer, a name such as "N", a range such as "1..8" or "2..", or "?"; not "a!": '
        'write "a"',
        'POST /v1/check\n{"inputs": [[3], ["a"]]}',
    ),
    "unknown-op": ProblemExample(
        'POST /v1/check\n{"op": "numpy.brodcast_arrays", "inputs": [[3], [1]]}',
        "there is no op 'numpy.brodcast_arrays': did you mean numpy.broadcast_arrays or numpy.broadcast_to or "
        "numpy.broadcast_shapes? GET /v1/ops lists all",
        'POST /v1/check\n{"op": "numpy.broadcast_arrays", "inputs": [[3], [1]]}',
    ),
    "incompatible-shapes": ProblemExample(
        _BROADCAST % ("3, 2", _TENSOR, ""),
        "On output axis 1, input 0 of shape (3,) has size 3 but the target (3, 2) has size 2: the size of an input "
        "must be 1 or equal to the target's size.",
        _BROADCAST % ("2, 3", _TENSOR, ""),
    ),
    "invalid-tensor": ProblemExample(
        _BROADCAST % ("2, 3", _TENSOR.replace(", 3]}", "]}"), ""),
        "inputs/0: data has 2 elements, but the shape (3,) needs 3",
        _BROADCAST % ("2, 3", _TENSOR, ""),
    ),
    "output-too-large": ProblemExample(
        _BROADCAST % ("100000000, 3", _TENSOR, ""),
        "the JSON response would have 300000000 elements, 100000000 lists and 1200000000 bytes, but the limit is "
        "131072 elements and lists, and 4194304 bytes: request MessagePack (Accept: application/vnd.msgpack), which "
        'streams, "layout": "strided", or a "window" of the output',
        _BROADCAST % ("100000000, 3", _TENSOR, ', "layout": "strided"'),
    ),
    "untranslatable": ProblemExample(
        'POST /v1/translate\n{"op": {"name": "torch.expand", "size": [2, 3]}, "inputs": [[3]], "to": "numpy.add"}',
        "numpy.add does not return its broadcast inputs: translate to numpy.broadcast_arrays or numpy.broadcast_to or "
        "numpy.tile",
        'POST /v1/translate\n{"op": {"name": "torch.expand", "size": [2, 3]}, "inputs": [[3]], '
        '"to": "numpy.broadcast_to"}',
    ),
}
"""An example of each problem that one short request can cause."""


def problem_page(code: str, docs: bool) -> str:
    """Return the page about a problem as HTML. If `docs` is false, the page does not link to the documentation."""
    status, title, remedy = PROBLEM_KINDS[code]
    links = "".join(f'<li><a href="{other}">{other}</a></li>' for other in PROBLEM_KINDS)
    content = f"""<main class="reference" id="main">
<p><b>{escape(title)}.</b> The response has status {status}.</p>
<h2>Fix</h2>
<p>{marked_text(remedy)}</p>
{_example(code)}<p>A response has <code>detail</code>, which describes the problem in the request. It often has
<code>pointer</code>, the path of the invalid field of the body, or <code>parameter</code>, the name of the invalid
query parameter. <code>errors</code> lists all faults of the request.</p>
</main>
<nav aria-label="Problems"><h2>All problems</h2><ul>{links}</ul></nav>"""
    description = f"{title}: what it means and how to fix it."
    return generated_page(code, description, f"problem {code}", content, "../", docs=docs)


def _example(code: str) -> str:
    example = PROBLEM_EXAMPLES.get(code)
    document = {"type": f"/problems/{code}", "title": PROBLEM_KINDS[code].title, "status": PROBLEM_KINDS[code].status}
    if example is None:
        return _code("Response", json.dumps(document | {"code": code}, indent=2))
    response = json.dumps(document | {"detail": example.detail, "code": code}, indent=2)
    return (
        _code("Example request", example.request) + _code("Response", response) + _code("Fixed request", example.fixed)
    )


def _code(title: str, text: str) -> str:
    return (
        f'<h2>{title}</h2>\n<pre class="wrapped" tabindex="0" role="region" aria-label="{title}">{escape(text)}</pre>\n'
    )
