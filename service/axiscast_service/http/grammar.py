"""The part of HTTP/1.1's grammar that a request may use, each expression beside the rule it stands for.

RFC 9110 is "HTTP Semantics", RFC 9112 "HTTP/1.1". Where they let a server be lenient (a bare LF, folded lines, both
framings of a body), this is strict: what two parsers may read in two ways is how requests are smuggled past one of
them. The quantifiers are possessive, so no head takes more than one walk through it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from axiscast.wire.problems import Problem

HEAD_BYTES = 32 * 2**10
"""Bytes of a request line and its fields, or of the fields after a chunked body. Proxies pass on no more."""
HEAD_FIELDS = 100
"""Fields in them: each costs objects of its own, and is looked at by whoever looks for another."""
PATH_BYTES = 1024
"""Bytes of a path before its query. The longest path of the service has a tenth."""
QUERY_PAIRS = 1000
"""Parameters in a query. Each takes a microsecond to parse; a POST takes more inputs."""
ACCEPT_BYTES, ACCEPT_RANGES = 2048, 64
"""Bytes, and media ranges, of all Accept fields together. Browsers send 150 bytes; each range is compared with each
encoding of the service."""
CHUNK_LINE_BYTES = 1024
"""Bytes of the line before a chunk: its size, and extensions that are ignored."""

# token = 1*tchar (RFC 9110, 5.6.2)
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
# field-line CRLF = field-name ":" OWS field-value OWS CRLF (RFC 9112, 5), where field-value is of SP, HTAB, VCHAR and
# obs-text (RFC 9110, 5.5). No obs-fold: a server may refuse it (RFC 9112, 5.2).
_FIELDS = rb"(?:" + _TOKEN + rb":[\t -~\x80-\xff]*+\r\n){0,%d}+" % HEAD_FIELDS
# authority = host [ ":" port ] without user information (RFC 9110, 4.2.4), and a host is not empty (4.2.1)
_AUTHORITY = rb"(?!:)[A-Za-z0-9._~%!$&'()*+;=:\[\]-]{1,262}+"
# request-target (RFC 9112, 3.2) of visible characters without a fragment: origin-form, absolute-form, for CONNECT
# authority-form, and for OPTIONS also asterisk-form. The last two are refused, with another answer (_no_such_method).
_ORIGIN = rb"/[!\"$-~]*+"
_ABSOLUTE = rb"[Hh][Tt][Tt][Pp][Ss]?://" + _AUTHORITY + rb"(?:[/?][!\"$-~]*+)?+"
# request-line CRLF = method SP request-target SP HTTP-version CRLF (RFC 9112, 3), of no other major version
_LINE = (
    rb"(?:(?!CONNECT )"
    + _TOKEN
    + rb" (?:"
    + _ORIGIN
    + rb"|"
    + _ABSOLUTE
    + rb")|CONNECT "
    + _AUTHORITY
    + rb"|OPTIONS \*)"
    rb" HTTP/1\.[01]\r\n"
)
_ABSOLUTE_PARTS = re.compile(rb"http(s?)://([^/?]++)([^?]*+)(.*+)", re.IGNORECASE)
# HTTP-message up to its body = start-line CRLF *( field-line CRLF ) CRLF (RFC 9112, 2.1)
_HEAD = re.compile(_LINE + _FIELDS + rb"\r\n")
# What such a head may begin with; before it one empty line is ignored (RFC 9112, 2.2).
_HEAD_SO_FAR = re.compile(rb"(?:\r\n)?+(?:[!-~ ]*+\r?|" + _LINE + _FIELDS + rb"[^\n]*+)")
# Requests that may be answered straight from their bytes (fastpath/), and what is looked at in their heads.
_SHORT_LINE = re.compile(
    rb"(?:GET /v1/check\?([A-Za-z0-9._~!$&'()*+,;=:@/?%[\]-]*+)|POST (/v1/(?:check|broadcast|backprop)))"
    rb" HTTP/1\.1(?=\r)"
)
_SHORT = re.compile(rb"\r\n" + _FIELDS)
_NOT_SHORT = (b"content-encoding", b"expect", b"if-none-match", b"te", b"trailer", b"transfer-encoding", b"upgrade")
_SHORT_FIELDS = re.compile(
    rb"\n(accept|authorization|connection|content-length|content-type|host|traceparent|x-request-id|"
    + b"|".join(_NOT_SHORT)
    + rb"):[\t ]*+([^\r]*+)",
    re.IGNORECASE,
)
_NAMED = re.compile(rb"\r\n(" + _TOKEN + rb"):[\t ]*+([^\r]*)")
# The next are looked for in a head in lower case.
_FRAMING = re.compile(rb"\n(?:content-length|transfer-encoding):")
_ACCEPT = re.compile(rb"\naccept:([^\r]*)")
# Host = uri-host [ ":" port ] (RFC 9110, 7.2), and exactly one of it (RFC 9112, 3.2)
_HOST_VALUE = rb"[A-Za-z0-9._~%!$&'()*+;=:\[\]-]{0,262}+"  # the longest name of DNS, and a port
_HOST = re.compile(rb"\nhost:[\t ]*+" + _HOST_VALUE + rb"[\t ]*+\r")
_HOST_LINE = re.compile(rb"\nhost:[^\r]*+", re.IGNORECASE)
_SHORT_HOST = re.compile(_HOST_VALUE)
# Content-Length = 1*DIGIT (RFC 9110, 8.6), of no more digits than a file can have
_LENGTH = re.compile(rb"\ncontent-length:[\t ]*+([0-9]{1,18})[\t ]*+\r")
_SHORT_LENGTH = re.compile(rb"[0-9]{1,18}")
# Transfer-Encoding = #transfer-coding (RFC 9112, 6.1), of which none but chunked is understood
_CHUNKED = re.compile(rb"\ntransfer-encoding:[\t ]*+chunked[\t ]*+\r")

# chunk-ext = *( BWS ";" BWS chunk-ext-name [ "=" chunk-ext-val ] ) (RFC 9112, 7.1.1); it is to be ignored. The blanks
# before it are "bad whitespace", which h11 and httptools refuse too.
_EXTENSION = rb"(?:;[\t -~\x80-\xff]*+)?+"
# chunk = chunk-size [ chunk-ext ] CRLF chunk-data CRLF, chunk-size = 1*HEXDIG (RFC 9112, 7.1). The line break that ends
# the head, or the chunk before, is matched as the beginning of the next line.
CHUNK = re.compile(rb"\r\n([0-9A-Fa-f]{1,16})" + _EXTENSION + rb"(?=\r\n)")
_CHUNK_SO_FAR = re.compile(rb"\r?|\r\n[0-9A-Fa-f]{0,16}" + _EXTENSION + rb"\r?")
# last-chunk trailer-section CRLF, trailer-section = *( field-line CRLF ) (RFC 9112, 7.1.2)
_TRAILER = re.compile(rb"\r\n" + _FIELDS + rb"\r\n")

_BAD_HEAD = (
    "the head is not HTTP/1.1: a line `METHOD /path HTTP/1.1`, then fields `Name: value` and an empty line, each ended "
    "by CR LF, with no control characters, and in the path only visible ASCII (write others as %XX)"
)
_BAD_HOST = "a request has exactly one Host field: the name, of at most 255 characters, and the port that it is sent to"
_BAD_FRAMING = (
    "a body is announced by one Content-Length, a number, or by one `Transfer-Encoding: chunked`, never by both"
)
_BAD_CHUNK = "a chunk is its size in hexadecimal, CR LF, so many bytes, CR LF; one of size 0 ends the body"


def malformed_request(detail: str = _BAD_HEAD) -> Problem:
    """The problem of a request that does not hold to the grammar, by default in its head."""
    return Problem("malformed-request", detail)


def read_head(data: bytes) -> tuple[bytes, int, int | None, bool] | None:
    """Read the head at the beginning of `data`: its bytes, with the target in origin-form, how many bytes of `data` it
    took, the length of the body (None: it comes in chunks), and whether the target was a URL of https. None if the
    head has not come as a whole.

    Raises Problem (malformed-request, head-too-large, method-not-allowed), before the end has come too.
    """
    end = data.find(b"\r\n\r\n") + 4
    if end < 4:
        _validate_size(data)
        if not _HEAD_SO_FAR.fullmatch(data):
            raise malformed_request()
        return None
    head = data[:end].removeprefix(b"\r\n")
    if end > HEAD_BYTES or not _HEAD.fullmatch(head):
        _validate_size(head)
        raise malformed_request()
    fields = head.lower()
    if fields.count(b"\nhost:") != 1 or not _HOST.search(fields):
        raise malformed_request(_BAD_HOST)
    head, is_https = _in_origin_form(head)
    _validate_parts(head, fields)
    return head, end, _length_of(head, fields), is_https


def _in_origin_form(head: bytes) -> tuple[bytes, bool]:
    """Return the head with a URL as its target replaced by the URL's path and query, and whether the URL is of https.

    Host becomes the host of the URL, which counts whatever that field says (RFC 9112, 3.2.2): what follows knows one
    form of target, and one place in which the host is. Raises Problem (method-not-allowed)."""
    method, target, version = head[: head.index(b"\r")].split(b" ")
    if target.startswith(b"/"):
        return head, False
    url = _ABSOLUTE_PARTS.fullmatch(target)
    if url is None or (method == b"OPTIONS" and url.end(2) == len(target)):  # which asks the same as an asterisk
        raise _no_such_method(method)
    line = b"%b %b%b %b" % (method, url[3] or b"/", url[4], version)
    host = b"\nHost: " + url[2]
    return line + _HOST_LINE.sub(lambda _: host, head[head.index(b"\r") :]), bool(url[1])


def _no_such_method(method: bytes) -> Problem:
    detail = (
        "CONNECT opens a tunnel, and this service is not a proxy: send GET, HEAD or POST to its own paths"
        if method == b"CONNECT"
        else "the service as a whole takes no OPTIONS: send GET, HEAD or POST to one of its paths"
    )
    return Problem("method-not-allowed", detail)


def _length_of(head: bytes, fields: bytes) -> int | None:
    """The length of the body that a head announces, None if it comes in chunks; `fields` is the head in lower case.
    Raises Problem (malformed-request)."""
    if not _FRAMING.search(fields):
        return 0
    announced = fields.count(b"\ncontent-length:") + fields.count(b"\ntransfer-encoding:")
    length = _LENGTH.search(fields)
    if announced == 1 and length:
        return int(length[1])
    # A sender of HTTP/1.0 knows no chunks, and both framings are an attack, or may become one (RFC 9112, 6.1 and 6.3).
    if announced > 1 or not is_http_1_1(head) or not _CHUNKED.search(fields):
        raise malformed_request(_BAD_FRAMING)
    return None


class ShortRequest(NamedTuple):
    """A short request that may be answered from its bytes."""

    query: bytes | None
    """That of a GET."""
    path: bytes | None
    """That of a POST."""
    fields: Mapping[bytes, bytes]
    """The fields that are looked at, by their names in lower case."""
    body: bytes
    size: int
    """How many bytes the request has."""


def read_short_request(data: bytes) -> ShortRequest | None:
    """The request at the beginning of `data`. None if it has not come as a whole, needs more than an answer, or could
    be read in another way."""
    line = _SHORT_LINE.match(data)
    end = data.find(b"\r\n\r\n")
    if line is None or end < 0:
        return None
    query = line[1]
    if query is not None and len(query) > QUERY_PAIRS and query.count(b"&") >= QUERY_PAIRS:
        return None
    lines = data[line.end() : end + 2]
    found = _recent_fields(lines) if len(lines) <= _RECENT_BYTES else _short_fields(lines)
    if found is None:
        return None
    body = data[end + 4 : end + 4 + found[1]]
    if len(body) != found[1]:
        return None
    return ShortRequest(query, line[2], found[0], body, end + 4 + len(body))


def _short_fields(lines: bytes) -> tuple[Mapping[bytes, bytes], int] | None:
    """The fields that are looked at in these lines, each with the line break before it, and the length of the body.
    None where they ask for more than an answer, or could be read in another way."""
    if not _SHORT.fullmatch(lines) or b" \r" in lines or b"\t\r" in lines:
        return None  # parsers differ on whether a blank at the end is part of the value
    found = _SHORT_FIELDS.findall(lines)
    fields = {name.lower(): value for name, value in found}
    if (
        len(fields) != len(found)
        or not fields.keys().isdisjoint(_NOT_SHORT)
        or fields.get(b"connection", b"keep-alive").lower() != b"keep-alive"
        or not _SHORT_HOST.fullmatch(fields.get(b"host", b" "))
        or len(accept := fields.get(b"accept", b"")) > _SHORT_ACCEPT
        or accept.count(b",") >= ACCEPT_RANGES
        or not _SHORT_LENGTH.fullmatch(fields.get(b"content-length", b"0"))
    ):
        return None
    return fields, int(fields.get(b"content-length", b"0"))


_SHORT_ACCEPT = 500
_RECENT_BYTES = 500
_recent_fields = lru_cache(256)(_short_fields)
"""The same of fields that came before: one caller sends the same ones again and again, but for the length."""


def is_http_1_1(head: bytes) -> bool:
    """Whether a head says that its sender knows HTTP/1.1, and not only 1.0."""
    return head[: head.index(b"\r")].endswith(b"1")


def validate_chunk_line(data: bytes, at: int) -> None:
    """Raises Problem (malformed-request) where no line of a chunk can come to stand at `at`."""
    if len(data) - at > CHUNK_LINE_BYTES or not _CHUNK_SO_FAR.fullmatch(data, at):
        raise malformed_request(_BAD_CHUNK)


def read_trailer(data: bytes) -> int:
    """How many bytes of `data` the fields after the last chunk take, 0 where they have not come as a whole. Raises
    Problem (malformed-request, head-too-large)."""
    end = data.find(b"\r\n\r\n") + 4
    _validate_size(data[:end] if end > 3 else data)
    if end < 4:
        return 0
    if not _TRAILER.fullmatch(data, 0, end):
        raise malformed_request(_BAD_CHUNK)
    return end


def header_fields(head: bytes) -> list[tuple[bytes, bytes]]:
    """Names, in lower case, and values of the fields of a head, as far as it can be read."""
    return [(name.lower(), value.rstrip(b"\t ")) for name, value in _NAMED.findall(head)]


def _validate_parts(head: bytes, fields: bytes) -> None:
    """Raises Problem (head-too-large) for a part of a head that costs more to parse than it can be good for; `fields`
    is the head in lower case."""
    target = head[head.index(b" ") + 1 : head.index(b"\r") - len(b" HTTP/1.1")]
    path, _, query = target.partition(b"?")
    if len(path) > PATH_BYTES:
        raise _too_large("the path has", len(path), "bytes", PATH_BYTES)
    if len(query) > QUERY_PAIRS and query.count(b"&") >= QUERY_PAIRS:
        raise _too_large("the query has", query.count(b"&") + 1, "parameters", QUERY_PAIRS)
    if b"\naccept:" in fields:
        accepted = _ACCEPT.findall(fields)
        nbytes = sum(map(len, accepted))
        if nbytes > ACCEPT_BYTES:
            raise _too_large("Accept has", nbytes, "bytes", ACCEPT_BYTES)
        ranges = sum(value.count(b",") + 1 for value in accepted)
        if ranges > ACCEPT_RANGES:
            raise _too_large("Accept has", ranges, "media ranges", ACCEPT_RANGES)


def _too_large(has: str, count: int, unit: str, limit: int) -> Problem:
    return Problem("head-too-large", f"{has} {count} {unit}, and this service takes up to {limit}", limit=limit)


def _validate_size(fields: bytes) -> None:
    """Raises Problem (head-too-large) for fields that are too long or too many, as far as they have come."""
    if len(fields) > HEAD_BYTES:
        raise Problem(
            "head-too-large",
            f"the request line and the fields have more than {HEAD_BYTES} bytes: send what is long in the body",
            limit=HEAD_BYTES,
        )
    if fields.count(b"\n") > HEAD_FIELDS + 2:
        raise Problem("head-too-large", f"there are more than {HEAD_FIELDS} fields: send fewer", limit=HEAD_FIELDS)
