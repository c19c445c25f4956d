"""Attacks on the connection: header blocks, framing, media types and slow clients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgpack

from attacks.attack import GOOD, MIB, MSGPACK, SENDS_ON, Attack, chunked, head, post


def heads() -> Iterator[Attack]:
    bounded = "a head is bounded in bytes and fields, and refused before it is held"
    strict = "a head that two parsers could read differently is refused, and the connection closed"

    def attack(name: str, invariant: str, sent: bytes, status: int | Sequence[int] = 400, **more: Any) -> Attack:
        return Attack(name, "head", invariant, [sent], status, closes=True, **more)

    get = "GET"
    path = "/v1/check?input=3"
    yield attack("a header of 1 MiB", bounded, head(get, path, "X: " + "a" * MIB), (400, 431))
    yield attack("a target of 1 MiB", bounded, head(get, path + "&x=" + "a" * MIB), (400, 414, 431))
    yield attack("20,000 fields", bounded, head(get, path, *["X: 1"] * 20_000), (400, 431))
    yield attack(
        "a head of 64 MiB without an end", bounded, b"GET / HTTP/1.1\r\nX: " + b"a" * 64 * MIB, (400, 431, 0), seconds=5
    )
    for many in (65, 7900):
        yield attack(f"Accept of {many} types", bounded, head(get, path, "Accept: " + "a/b," * (many - 1) + "*/*"), 431)
    yield attack("10,000 parameters", bounded, head(get, "/v1/check?" + "a=&" * 10_000), 431)
    yield attack("1,001 parameters, most of them empty", bounded, head(get, path + "&" * 1000), 431)
    yield attack("4,000 inputs", bounded, head(get, "/v1/check?" + "input=3&" * 4000), 431)
    yield attack("a path of 10,600 escapes", bounded, head(get, "/" + "%41" * 10_600), 431)
    yield attack("a Host of 31,000 dots", strict, head(get, path, host="." * 31_000))
    yield attack("no Host", strict, head(get, path, host=None))
    yield attack("two Hosts", strict, head(get, path, "Host: other"))
    yield attack("two Hosts that agree", strict, head(get, path, "Host: attacked"))
    both = ("Content-Length: 4", "Transfer-Encoding: chunked", "Content-Type: application/json")
    yield attack("both lengths", strict, head("POST", "/v1/check", *both) + b"0\r\n\r\n")
    lengths = ("Content-Length: 4", "Content-Length: 5")
    yield attack("two lengths", strict, head("POST", "/v1/check", *lengths) + b"{}..")
    for length in ("-1", "+4", "0x4", "4 4", "4,4", "", "9" * 30, "1e3", "\xb2"):
        yield attack(
            f"a length of {length[:5]!r}", strict, head("POST", "/v1/check", f"Content-Length: {length}"), (400, 413)
        )
    for coding in ("chunked, chunked", "gzip, chunked", "identity", "chunked;q=1", "xchunked", "cow"):
        sent = head("POST", "/v1/check", f"Transfer-Encoding: {coding}") + b"0\r\n\r\n"
        yield attack(f"a transfer coding {coding!r}", strict, sent, (400, 501))
    yield attack("a space before the colon", strict, head(get, path, "Content-Length : 4"))
    yield attack("a folded field", strict, head(get, path, "X: 1\r\n  2"))
    yield attack("a bare LF", strict, b"GET /livez HTTP/1.1\nHost: attacked\n\n")
    yield attack("a NUL in a value", strict, head(get, path, "X: a\0b"))
    yield attack("a NUL in the target", strict, b"GET /v1/check\0 HTTP/1.1\r\nHost: attacked\r\n\r\n")
    yield attack("a CR in a value", strict, head(get, path, "X: a\rb"))
    yield attack("a field without a name", strict, head(get, path, ": 1"))
    yield attack("a field without a colon", strict, head(get, path, "X"))
    yield attack("no version", strict, b"GET /livez\r\n\r\n")
    yield attack("HTTP/9.9", strict, b"GET /livez HTTP/9.9\r\nHost: attacked\r\n\r\n", (400, 505))
    yield attack("HTTP/2 spoken at once", strict, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(30))
    yield attack("TLS spoken at once", strict, bytes.fromhex("16030100a5010000a10303") + bytes(160), (400, 0))
    yield attack("SSH spoken at once", strict, b"SSH-2.0-OpenSSH_9.6\r\n")
    yield attack("bytes of no protocol", strict, bytes(range(256)) * 4)
    yield attack(
        "a method of 100,000 letters", bounded, b"A" * 100_000 + b" / HTTP/1.1\r\nHost: a\r\n\r\n", (400, 405, 431)
    )


def framing() -> Iterator[Attack]:
    whole = "a body is what its framing says, or it is refused"

    def attack(
        name: str, sent: Sequence[bytes | float], status: int | Sequence[int], code: str | None = None, **more: Any
    ) -> Attack:
        return Attack(name, "framing", more.pop("invariant", whole), sent, status, code, **more)

    yield attack("200,000 chunks of one byte", [chunked(*[b" "] * 200_000, GOOD)], (200, 400, 408, 413), seconds=5)
    yield attack("a chunk extension of 1 MiB", [chunked(end=b"1;" + b"a" * MIB + b"\r\n \r\n0\r\n\r\n")], (400, 431, 0))
    yield attack("a trailer of 1 MiB", [chunked(GOOD, end=b"0\r\nX: " + b"a" * MIB + b"\r\n\r\n")], (200, 400, 431, 0))
    yield attack("a chunk size that is none", [chunked(end=b"zz\r\n")], 400)
    yield attack("a chunk size that wraps", [chunked(end=b"1" + b"0" * 16 + b"\r\n")], (400, 413))
    yield attack("a negative chunk size", [chunked(end=b"-5\r\n")], 400)
    yield attack("bytes after the body", [*post(GOOD), b"garbage that is no request\r\n\r\n"], 200)
    yield attack(
        "a body longer than its length",
        [head("POST", "/v1/check", "Content-Type: application/json", "Content-Length: 2") + GOOD],
        (400, 422),
    )
    yield attack(
        "a length of a petabyte",
        [head("POST", "/v1/check", "Content-Type: application/json", f"Content-Length: {10**15}")],
        413,
        "body-too-large",
        closes=True,
        invariant="a body is judged by its length before it is read",
    )
    yield attack(
        "a petabyte expected with 100-continue",
        [
            head(
                "POST",
                "/v1/check",
                "Content-Type: application/json",
                f"Content-Length: {10**15}",
                "Expect: 100-continue",
            )
        ],
        413,
        "body-too-large",
        closes=True,
    )
    yield attack(
        "an expectation that nobody has", [*post(GOOD, "/v1/check", "application/json", "Expect: cake")], (200, 417)
    )
    yield attack(
        "chunks beyond the limit",
        [
            head("POST", "/v1/check", "Content-Type: application/json", "Transfer-Encoding: chunked"),
            *[b"100000\r\n" + b" " * MIB + b"\r\n"] * 80,
        ],
        (413, 503),
        closes=True,
        growth=100,
        seconds=5,
    )
    for coding in ("gzip", "deflate", "br", "zstd", "gzip, gzip"):
        yield attack(
            f"a body in {coding}",
            post(GOOD, "/v1/check", "application/json", f"Content-Encoding: {coding}"),
            415,
            "unsupported-media-type",
        )


def media() -> Iterator[Attack]:
    said = "an encoding that is not understood is named, with those that are"

    def attack(name: str, sent: Sequence[bytes], status: int, code: str | None) -> Attack:
        return Attack(name, "media types", said, sent, status, code)

    yield attack("no type", post(GOOD, media=None), 415, "unsupported-media-type")
    for name in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=a",
        "image/png",
        "application/x-python-serialize",
        "*/*",
        "json",
        "",
        ";",
        "a" * 10_000,
    ):
        yield attack(f"the type {name[:30]!r}", post(GOOD, media=name), 415, "unsupported-media-type")
    for accept in ("image/png", "application/json;q=0", "text/html;q=0.5", "*/*;q=nan", "*/*;q=1e999"):
        yield attack(
            f"Accept: {accept}", post(GOOD, "/v1/check", "application/json", f"Accept: {accept}"), 406, "not-acceptable"
        )
    accept = ",".join(["a/b"] * 63) + ",*/*"
    yield attack("Accept: of 64 types", post(GOOD, "/v1/check", "application/json", f"Accept: {accept}"), 200, None)
    pickle = b"\x80\x04\x95\x1d\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94."
    yield attack("a pickle", post(pickle, media=MSGPACK), 400, "malformed-body")
    yield attack("JSON said to be MessagePack", post(GOOD, media=MSGPACK), 400, "malformed-body")
    yield attack("MessagePack said to be JSON", post(msgpack.packb({"inputs": [[3]]})), 400, "malformed-body")


def timing() -> Iterator[Attack]:
    prompt = "what does not get on is given up, in the time that the settings say"

    def attack(name: str, first: bytes, more: bytes, status: int, code: str | None, after: float = 0.2) -> Attack:
        pieces = [first, *([after, more] * int(SENDS_ON / after))]
        return Attack(name, "timing", prompt, pieces, status, code, seconds=6, closes=True)

    slow = head("POST", "/v1/check", "Content-Type: application/json", "Content-Length: 500")
    long = head("POST", "/v1/broadcast", f"Content-Type: {MSGPACK}", f"Content-Length: {20 * MIB}")
    in_chunks = head("POST", "/v1/check", "Content-Type: application/json", "Transfer-Encoding: chunked")
    late = ("request-timeout",)
    yield attack("a slow head", b"GET /livez HTTP/1.1\r\nHost: x\r\nX: ", b"a", 408, *late)
    yield attack("a head in single bytes", b"G", b"E", 408, *late)
    yield attack("a slow second head", head("GET", "/livez") + b"GET /", b"a", 200, None)
    yield attack("no byte at all", b"", b"", 0, None, 2)
    yield attack("a body that never comes", slow, b"", 408, *late, 2)
    yield attack("a slow body", slow, b" ", 408, *late)
    yield attack("a slow long body", long, b" " * 1000, 408, *late)
    yield attack("a long body that stops", long + bytes(3 * MIB), b"", 408, *late, 2)
    yield attack("slow chunks", in_chunks, b"1\r\n \r\n", 408, *late)
    yield attack("a slow line of a chunk", in_chunks + b"1", b"0", 408, *late)
    yield attack("a slow trailer", in_chunks + b"0\r\nX: ", b"a", 408, *late)
    flood = head("GET", "/v1/check?input=3") * 2000 + head("GET", "/livez", "Connection: close")
    yield Attack("2000 requests at once", "timing", "one request is in work, the others wait unread", [flood], 200)
    yield Attack("a half of a head, then the end", "timing", prompt, [b"GET /livez HT", "end"], (0, 400), closes=True)
    yield Attack("a request, then the end", "timing", prompt, [head("GET", "/livez"), "end"], (0, 200), closes=True)
    yield Attack("half of a body, then the end", "timing", prompt, [slow + b"{", "end"], (0, 400), closes=True)
