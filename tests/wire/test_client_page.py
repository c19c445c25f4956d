"""The bytes in docs/clients.md: the service answers the request with exactly these responses."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import msgpack
from cases import cases

PAGE = (Path(__file__).parents[2] / "docs/clients.md").read_text()
LINE = re.compile(r"((?:[0-9a-f]{2} )*[0-9a-f]{2})  +(.+)")
HEADERS = {"Content-Type": "application/vnd.msgpack"}
REQUEST = {
    "op": {"name": "numpy.broadcast_to", "shape": [2, 3]},
    "inputs": [{"dtype": "int16", "shape": [3], "data": b"\x01\x00\x02\x00\x03\x00"}],
}


def lines(block: str) -> list[tuple[bytes, str]]:
    """Return the bytes and the comment of each line of a block."""
    (text,) = re.findall(rf"^```{block}\n((?:.*\n)*?)```$", PAGE, re.MULTILINE)
    found = [LINE.fullmatch(line) for line in text.splitlines()]
    return [(bytes.fromhex(line[1]), line[2]) for line in found if line]


def body(block: str) -> bytes:
    return b"".join(data for data, _ in lines(block))


def test_the_request_means_what_the_page_says() -> None:
    assert msgpack.unpackb(body("request")) == REQUEST


def test_the_service_sends_the_documented_bytes(http: httpx.Client) -> None:
    response = http.post("/v1/broadcast", content=body("request"), headers=HEADERS)
    assert (response.status_code, response.content) == (200, body("response"))
    assert f"`Content-Length: {response.headers['Content-Length']}`" in PAGE


def test_a_strided_response_has_the_documented_strides_and_bytes(http: httpx.Client) -> None:
    strided = msgpack.packb({**REQUEST, "layout": "strided"})
    answer = msgpack.unpackb(http.post("/v1/broadcast", content=strided, headers=HEADERS).content)
    (output,) = answer["broadcast_inputs"]
    assert (output["strides"], output["data"]) == ([0, 1], b"\x01\x00\x02\x00\x03\x00")
    assert "the fourth field `strides`, which is `[0, 1]`, and its data has only 6 bytes" in " ".join(PAGE.split())


@cases("block", ["request", "response"])
def test_each_comment_states_its_bytes(block: str) -> None:
    found = lines(block)
    assert len(found) > 10
    for data, comment in found:
        if comment.startswith('"'):
            assert msgpack.unpackb(data) == comment[1:-1]
        elif shape := re.match(r"\[([\d, ]*)\]", comment):
            assert msgpack.unpackb(data) == [int(size) for size in shape[1].split(",")]
        elif count := re.match(r"a (map|list) with (\d)", comment):
            assert data == bytes([{"map": 0x80, "list": 0x90}[count[1]] + int(count[2])])
        elif length := re.match(r"a bin with (\d+) bytes", comment):
            assert int.from_bytes(data[1:], "big") == int(length[1])
