"""RFC 9112, section by section: what the parser accepts, and what it refuses. The cases are written from the RFC."""

from __future__ import annotations

import pytest
from cases import cases

from axiscast.wire.problems import Problem
from axiscast_service.http.parser import BodyData, EndOfRequest, Parser

HOST = b"Host: x\r\n"
GET = b"GET / HTTP/1.1\r\n" + HOST
POST = b"POST / HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"

ACCEPTED: dict[str, tuple[bytes, bytes]] = {
    # the section and the case: the request and its body
    "2.1 a message without fields other than Host": (GET + b"\r\n", b""),
    "2.2 an empty line before the request": (b"\r\n" + GET + b"\r\n", b""),
    "2.2 two empty lines before the request": (b"\r\n\r\n" + GET + b"\r\n", b""),
    "2.3 a higher minor version": (GET.replace(b"1.1", b"1.2") + b"\r\n", b""),
    "2.3 the highest minor version": (GET.replace(b"1.1", b"1.9") + b"\r\n", b""),
    "3 a request line of 8000 octets": (b"GET /" + b"a" * 7986 + b" HTTP/1.1\r\n" + HOST + b"\r\n", b""),
    "3.1 an unknown method": (GET.replace(b"GET", b"BREW") + b"\r\n", b""),
    "3.2 HTTP/1.0 without Host": (b"GET / HTTP/1.0\r\n\r\n", b""),
    "3.2 an empty Host": (b"GET / HTTP/1.1\r\nHost:\r\n\r\n", b""),
    "3.2 a Host with a port": (b"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", b""),
    "3.2.1 a path with a query": (GET.replace(b"/ ", b"/a%20b?c=/d?e ") + b"\r\n", b""),
    "3.2.2 an absolute URL": (GET.replace(b"/ ", b"http://y/z ") + b"\r\n", b""),
    "5 a field without spaces": (GET + b"A:1\r\n\r\n", b""),
    "5 a field with tabs and spaces": (GET + b"A:\t 1 \t\r\n\r\n", b""),
    "5 an empty field": (GET + b"A:\r\n\r\n", b""),
    "5.5 of RFC 9110, obs-text": (GET + b"A: \xff\r\n\r\n", b""),
    "6.2 a body of known length": (POST + b"Content-Length: 3\r\n\r\nabc", b"abc"),
    "6.2 a length with leading zeros": (POST + b"Content-Length: 003\r\n\r\nabc", b"abc"),
    "6.3 no length means no body": (POST + b"\r\n", b""),
    "7.1 a chunked body": (CHUNKED + b"3\r\nabc\r\n0\r\n\r\n", b"abc"),
    "7.1 hexadecimal digits of any case": (
        CHUNKED + b"0a\r\n0123456789\r\n0A\r\n0123456789\r\n0\r\n\r\n",
        b"0123456789" * 2,
    ),
    "7.1 no chunk": (CHUNKED + b"0\r\n\r\n", b""),
    "7.1 a last chunk of several zeros": (CHUNKED + b"000\r\n\r\n", b""),
    "7.1.1 chunk extensions": (CHUNKED + b'3;a;b=c;d="e;f"\r\nabc\r\n0;g\r\n\r\n', b"abc"),
    "7.1.2 trailer fields": (CHUNKED + b"0\r\nA: 1\r\nB: 2\r\n\r\n", b""),
    "6.1 a coding in another case": (CHUNKED.replace(b"chunked", b"Chunked") + b"0\r\n\r\n", b""),
}
REFUSED = {
    "2.2 a bare CR as the end of a line": GET.replace(b"\r\n", b"\r") + b"\r\r",
    "2.2 a bare LF as the end of a line": GET.replace(b"\r\n", b"\n") + b"\n",
    "2.2 a bare CR in a field": GET + b"A: 1\rB: 2\r\n\r\n",
    "2.2 a space before the first field": b"GET / HTTP/1.1\r\n " + HOST + b"\r\n",
    "2.2 an empty line that ends in LF only": b"\n" + GET + b"\r\n",
    "2.2 a space before the request": b" " + GET + b"\r\n",
    "2.3 another major version": GET.replace(b"1.1", b"2.0") + b"\r\n",
    "2.3 a lower-case name": GET.replace(b"HTTP", b"http") + b"\r\n",
    "2.3 two digits": GET.replace(b"1.1", b"1.10") + b"\r\n",
    "2.3 no digit": GET.replace(b"1.1", b"1.") + b"\r\n",
    "3 two spaces": GET.replace(b" /", b"  /") + b"\r\n",
    "3 a tab instead of a space": GET.replace(b" /", b"\t/") + b"\r\n",
    "3 a space at the end of the line": GET.replace(b"1.1\r", b"1.1 \r") + b"\r\n",
    "3 no version": b"GET /\r\n" + HOST + b"\r\n",
    "3.1 an empty method": b" / HTTP/1.1\r\n" + HOST + b"\r\n",
    "3.1 a method that is no token": GET.replace(b"GET", b"G(T") + b"\r\n",
    "3.2 a space in the target": GET.replace(b"/ ", b"/a b ") + b"\r\n",
    "3.2 a fragment": GET.replace(b"/ ", b"/#a ") + b"\r\n",
    "3.2 no Host": b"GET / HTTP/1.1\r\n\r\n",
    "3.2 no Host in HTTP/1.2": b"GET / HTTP/1.2\r\n\r\n",
    "3.2 two Hosts": GET + HOST + b"\r\n",
    "3.2 two Hosts in HTTP/1.0": GET.replace(b"1.1", b"1.0") + HOST + b"\r\n",
    "3.2 a Host with a space": b"GET / HTTP/1.1\r\nHost: x y\r\n\r\n",
    "3.2 a Host with a path": b"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n",
    "3.2.1 a target without a slash": GET.replace(b"/ ", b"a ") + b"\r\n",
    "3.2.2 a URL without a host": GET.replace(b"/ ", b"http:/// ") + b"\r\n",
    "3.2.2 a URL with user information": GET.replace(b"/ ", b"http://a:b@x/ ") + b"\r\n",
    "5.1 a space before the colon": GET + b"A : 1\r\n\r\n",
    "5.1 a line without a colon": GET + b"A\r\n\r\n",
    "5.1 an empty name": GET + b": 1\r\n\r\n",
    "5.1 a name that is no token": GET + b"A(: 1\r\n\r\n",
    "5.2 a folded line": GET + b"A: 1\r\n 2\r\n\r\n",
    "5 a NUL in a field": GET + b"A: \0\r\n\r\n",
    "6.1 both framings": CHUNKED[:-2] + b"Content-Length: 3\r\n\r\n0\r\n\r\n",
    "6.1 chunked is not the last coding": POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "6.1 an unsupported coding": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "6.1 chunked twice": POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "6.1 chunks in HTTP/1.0": CHUNKED.replace(b"1.1", b"1.0") + b"0\r\n\r\n",
    "6.1 a quoted coding": POST + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
    "6.2 a sign": POST + b"Content-Length: +3\r\n\r\nabc",
    "6.2 a hexadecimal length": POST + b"Content-Length: 0x3\r\n\r\nabc",
    "6.2 a fraction": POST + b"Content-Length: 3.0\r\n\r\nabc",
    "6.2 an empty length": POST + b"Content-Length:\r\n\r\nabc",
    "6.3 two different lengths": POST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "6.3 two equal lengths": POST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "6.3 a list of equal lengths": POST + b"Content-Length: 3, 3\r\n\r\nabc",
    "7.1 no size": CHUNKED + b"\r\nabc\r\n0\r\n\r\n",
    "7.1 a sign": CHUNKED + b"+3\r\nabc\r\n0\r\n\r\n",
    "7.1 a prefix": CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
    "7.1 a space before the size": CHUNKED + b" 3\r\nabc\r\n0\r\n\r\n",
    "7.1 a space after the size": CHUNKED + b"3 \r\nabc\r\n0\r\n\r\n",
    "7.1 a size of more than 16 digits": CHUNKED + b"00000000000000003\r\nabc\r\n0\r\n\r\n",
    "7.1 a line that ends in LF": CHUNKED + b"3\nabc\r\n0\r\n\r\n",
    "7.1 data that ends in LF": CHUNKED + b"3\r\nabc\n0\r\n\r\n",
    "7.1 more data than the size": CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n",
    "7.1.1 a CR in an extension": CHUNKED + b"3;a\rb\r\nabc\r\n0\r\n\r\n",
    "7.1.2 a trailer that is no field": CHUNKED + b"0\r\nA\r\n\r\n",
    "7.1.2 a folded trailer": CHUNKED + b"0\r\nA: 1\r\n 2\r\n\r\n",
}


def read(data: bytes, size: int) -> tuple[bytes, bool]:
    """Return the body of the request, and whether the request is complete. The data arrives in pieces."""
    parser, events = Parser(), []
    for start in range(0, len(data), size):
        events += parser.feed(data[start : start + size])
    body = b"".join(event.data for event in events if isinstance(event, BodyData))
    assert parser.rest == b""
    return body, any(isinstance(event, EndOfRequest) for event in events)


@cases("size", [1, 10**6])
@cases(("data", "body"), ACCEPTED.values(), ids=ACCEPTED)
def test_a_valid_request_is_accepted(data: bytes, body: bytes, size: int) -> None:
    assert read(data, size) == (body, True)


@cases("size", [1, 10**6])
@cases("data", REFUSED.values(), ids=REFUSED)
def test_an_invalid_request_is_refused(data: bytes, size: int) -> None:
    with pytest.raises(Problem) as refused:
        read(data, size)
    assert refused.value.code == "malformed-request"
