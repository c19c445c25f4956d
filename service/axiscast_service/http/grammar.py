"""The grammar of the HTTP/1.1 requests that the service accepts. Each expression quotes its RFC rule.

RFC 9110 is "HTTP Semantics", and RFC 9112 is "HTTP/1.1". The RFCs allow a server to accept a bare LF, folded lines and
two framings of one body. This grammar refuses all three. If two parsers interpret a request differently, an attacker
can smuggle a hidden request past one parser. The quantifiers are possessive, so that each header block is scanned only
once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from axiscast.wire.problems import Problem

HEAD_BYTES = 32 * 2**10
"""The maximum size, in bytes, of a header block or of the trailer fields. Proxies have similar limits."""
HEAD_FIELDS = 100
"""The maximum number of fields in a header block. Each field takes memory and slows down searches for a field."""
PATH_BYTES = 8000
"""The maximum length, in bytes, of a path without its query. RFC 9112, 3 recommends this length for a request line."""
QUERY_PAIRS = 1000
"""The maximum number of parameters in a query, because parsing takes a microsecond per parameter. To send more inputs,
use POST.
"""
ACCEPT_BYTES, ACCEPT_RANGES = 2048, 64
"""The maximum total number of bytes, and of media ranges, in the Accept fields of a request. Browsers send 150 bytes.
Each range is compared with each encoding."""
AUTHORITY_BYTES = 262
"""The maximum length, in bytes, of a host with its port. The longest DNS name with a port has 259 characters."""
CHUNK_LINE_BYTES = 1024
"""The maximum length, in bytes, of a chunk line. The line contains the chunk's size, and extensions, which are ignored.
"""

# A token, such as a method or the name of a header field: token = 1*tchar (RFC 9110, 5.6.2).
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]++"
# Header lines: field-line CRLF = field-name ":" OWS field-value OWS CRLF (RFC 9112, 5). A field-value consists of SP,
# HTAB, VCHAR and obs-text (RFC 9110, 5.5). Folded lines (obs-fold) are refused, which RFC 9112, 5.2 allows.
_FIELDS = rb"(?:" + _TOKEN + rb":[\t -~\x80-\xff]*+\r\n){0,%d}+" % HEAD_FIELDS
# The host and port of a URL: authority = host [ ":" port ]. User information is refused (RFC 9110, 4.2.4), and the host
# must not be empty (RFC 9110, 4.2.1).
_AUTHORITY = rb"(?!:)[A-Za-z0-9._~%%!$&'()*+;=:\[\]-]{1,%d}+" % AUTHORITY_BYTES
# The request-target (RFC 9112, 3.2) has only visible characters and no fragment. It has origin-form or absolute-form.
# The other two forms are refused: authority-form (CONNECT), because the service is not a proxy, and asterisk-form.
_ORIGIN = rb"/[!\"$-~]*+"
_ABSOLUTE = rb"[Hh][Tt][Tt][Pp][Ss]?://" + _AUTHORITY + rb"(?:[/?][!\"$-~]*+)?+"
# The first line: request-line CRLF = method SP request-target SP HTTP-version CRLF (RFC 9112, 3). Other major versions
# are refused. A minor version above 1 is processed like 1.1 (RFC 9110, 2.5).
_LINE = rb"(?!CONNECT )" + _TOKEN + rb" (?:" + _ORIGIN + rb"|" + _ABSOLUTE + rb") HTTP/1\.[0-9]\r\n"
_ABSOLUTE_PARTS = re.compile(rb"http(s?)://([^/?]++)([^?]*+)(.*+)", re.IGNORECASE)
# An HTTP-message without its body: start-line CRLF *( field-line CRLF ) CRLF (RFC 9112, 2.1).
_HEAD = re.compile(_LINE + _FIELDS + rb"\r\n")
# Empty lines before the header block are ignored (RFC 9112, 2.2).
_EMPTY_LINES = re.compile(rb"(?:\r\n)*+")
# The beginning of an incomplete header block: a part of the first line, or that line and a part of the fields.
_HEAD_SO_FAR = re.compile(rb"(?:\r\n)*+(?:[!-~ ]*+\r?|" + _LINE + _FIELDS + rb"[^\n]*+)")
# These expressions match requests to which the fast path may respond, and the header fields that it reads.
_SHORT_LINE = re.compile(rb"(GET|POST) (/v1/[a-z/]++)(?:\?([A-Za-z0-9._~!$&'()*+,;=:@/?%[\]-]*+))?+ HTTP/1\.1(?=\r)")
_SHORT = re.compile(rb"\r\n" + _FIELDS)
_NOT_SHORT = (b"content-encoding", b"expect", b"if-none-match", b"te", b"trailer", b"transfer-encoding", b"upgrade")
_SHORT_FIELDS = re.compile(
    rb"\n(accept|authorization|connection|content-length|content-type|host|traceparent|user-agent|x-forwarded-for|"
    rb"x-request-id|" + b"|".join(_NOT_SHORT) + rb"):[\t ]*+([^\r]*+)",
    re.IGNORECASE,
)
_NAMED = re.compile(rb"\r\n(" + _TOKEN + rb"):[\t ]*+([^\r]*)")
# The next expressions match header blocks that were converted to lower case.
_FRAMING = re.compile(rb"\n(?:content-length|transfer-encoding):")
_ACCEPT = re.compile(rb"\naccept:([^\r]*)")
# The Host field: Host = uri-host [ ":" port ] (RFC 9110, 7.2). An HTTP/1.1 request must have exactly one, and an
# HTTP/1.0 request at most one (RFC 9112, 3.2).
_HOST_VALUE = rb"[A-Za-z0-9._~%%!$&'()*+;=:\[\]-]{0,%d}+" % AUTHORITY_BYTES
_HOST = re.compile(rb"\nhost:[\t ]*+" + _HOST_VALUE + rb"[\t ]*+\r")
_HOST_LINE = re.compile(rb"\nhost:[^\r]*+", re.IGNORECASE)
_SHORT_HOST = re.compile(_HOST_VALUE)
# The length of the body: Content-Length = 1*DIGIT (RFC 9110, 8.6). No file size has more than 18 digits.
_LENGTH = re.compile(rb"\ncontent-length:[\t ]*+([0-9]{1,18})[\t ]*+\r")
_SHORT_LENGTH = re.compile(rb"[0-9]{1,18}")
# A chunked body: Transfer-Encoding = #transfer-coding (RFC 9112, 6.1). The only supported coding is `chunked`.
_CHUNKED = re.compile(rb"\ntransfer-encoding:[\t ]*+chunked[\t ]*+\r")

# The extensions of a chunk: chunk-ext = *( BWS ";" BWS chunk-ext-name [ "=" chunk-ext-val ] ) (RFC 9112, 7.1.1). They
# are ignored. Spaces before an extension are "bad whitespace" (BWS) and are refused, as in h11 and httptools.
_EXTENSION = rb"(?:;[\t -~\x80-\xff]*+)?+"
# A chunk: chunk-size [ chunk-ext ] CRLF chunk-data CRLF, where chunk-size = 1*HEXDIG (RFC 9112, 7.1). This expression
# starts with the line break that ends the header block or the previous chunk.
CHUNK = re.compile(rb"\r\n([0-9A-Fa-f]{1,16})" + _EXTENSION + rb"(?=\r\n)")
_CHUNK_SO_FAR = re.compile(rb"\r?|\r\n[0-9A-Fa-f]{0,16}" + _EXTENSION + rb"\r?")
# The end of a chunked body: last-chunk trailer-section CRLF, where trailer-section = *( field-line CRLF )
# (RFC 9112, 7.1.2).
_TRAILER = re.compile(rb"\r\n" + _FIELDS + rb"\r\n")

_BAD_HEAD = (
    "the header block is not valid HTTP/1.1: send `METHOD /path HTTP/1.1`, then `Name: value` lines, then an empty "
    "line. End each line with CR LF, use no control characters, and percent-encode spaces and non-ASCII characters in "
    "the path"
)
_BAD_HOST = "an HTTP/1.1 request needs exactly one Host header: a name of at most 255 characters, and optionally a port"
_BAD_FRAMING = (
    "the framing of the body is ambiguous: send one numeric Content-Length or one `Transfer-Encoding: chunked`"
)
_BAD_CHUNK = (
    "a chunk is invalid: send its size in hexadecimal, CR LF, its bytes, CR LF; a chunk of size 0 ends the body"
)


def malformed_request(detail: str = _BAD_HEAD) -> Problem:
    """Return the problem for a request that violates the grammar. By default, its header block is invalid."""
    return Problem("malformed-request", detail)


def read_head(data: bytes) -> tuple[bytes, int, int | None, bool] | None:
    """Return the header block at the beginning of `data`, or None if it is incomplete.

    The result has four parts: the header block with the target in origin-form, the number of bytes read from `data`,
    the length of the body (None if chunked), and whether the target was an https URL. Even if the header block is
    incomplete, the function may raise Problem (malformed-request or head-too-large).
    """
    start = _EMPTY_LINES.match(data).end() if data.startswith(b"\r") else 0  # type: ignore[union-attr]
    end = data.find(b"\r\n\r\n", start) + 4
    if end < 4:
        _validate_size(data)
        if not _HEAD_SO_FAR.fullmatch(data):
            raise malformed_request()
        return None
    head = data[start:end]
    if end > HEAD_BYTES or not _HEAD.fullmatch(head):
        _validate_size(head)
        raise malformed_request()
    fields = head.lower()
    hosts = fields.count(b"\nhost:")
    if hosts > 1 or (not _HOST.search(fields) if hosts else not _is_1_0(head)):
        raise malformed_request(_BAD_HOST)
    head, is_https = _in_origin_form(head)
    _validate_parts(head, fields)
    return head, end, _length_of(head, fields), is_https


def _in_origin_form(head: bytes) -> tuple[bytes, bool]:
    """Return the header block in origin-form, and whether the target was an https URL.

    A URL target is replaced by its path and query. The value of Host is replaced by the host of the URL, which takes
    precedence (RFC 9112, 3.2.2).
    """
    method, target, version = head[: head.index(b"\r")].split(b" ")
    if target.startswith(b"/"):
        return head, False
    url = _ABSOLUTE_PARTS.fullmatch(target)
    assert url is not None  # _LINE allows no other form
    line = b"%b %b%b %b" % (method, url[3] or b"/", url[4], version)
    host = b"\nHost: " + url[2]
    fields, replaced = _HOST_LINE.subn(lambda _: host, head[head.index(b"\r") :])
    return line + (fields if replaced else b"\r" + host + fields), bool(url[1])


def _is_1_0(head: bytes) -> bool:
    """Return whether the version of a request is HTTP/1.0."""
    return head[: head.index(b"\r")].endswith(b"HTTP/1.0")


def _length_of(head: bytes, fields: bytes) -> int | None:
    """Return the length of the body, or None if the body is chunked.

    `fields` is the header block in lower case. Raises Problem (malformed-request) if the framing is invalid.
    """
    if not _FRAMING.search(fields):
        return 0
    announced = fields.count(b"\ncontent-length:") + fields.count(b"\ntransfer-encoding:")
    length = _LENGTH.search(fields)
    if announced == 1 and length:
        return int(length[1])
    # HTTP/1.0 does not support chunks, and a request with two framings may be an attack (RFC 9112, 6.1 and 6.3).
    if announced > 1 or _is_1_0(head) or not _CHUNKED.search(fields):
        raise malformed_request(_BAD_FRAMING)
    return None


class ShortRequest(NamedTuple):
    """A short request to which the fast path may respond."""

    method: str
    path: bytes
    query: bytes
    fields: Mapping[bytes, bytes]
    """The header fields that the fast path reads, keyed by lower-case name."""
    body: bytes
    size: int
    """The length of the whole request, in bytes."""


def read_short_request(data: bytes) -> ShortRequest | None:
    """Return the short request at the beginning of `data`.

    Return None if the request is incomplete, ambiguous, or has headers that the fast path does not handle.
    """
    line = _SHORT_LINE.match(data)
    end = data.find(b"\r\n\r\n")
    if line is None or end < 0:
        return None
    method, path, query = line.groups(b"")
    if len(query) > QUERY_PAIRS and query.count(b"&") >= QUERY_PAIRS:
        return None
    lines = data[line.end() : end + 2]
    found = _recent_fields(lines) if len(lines) <= _RECENT_BYTES else _short_fields(lines)
    if found is None:
        return None
    body = data[end + 4 : end + 4 + found[1]]
    if len(body) != found[1]:
        return None
    return ShortRequest(method.decode(), path, query, found[0], body, end + 4 + len(body))


def _short_fields(lines: bytes) -> tuple[Mapping[bytes, bytes], int] | None:
    """Return the header fields that the fast path reads, and the length of the body.

    `lines` contains the header lines, starting with a line break. Return None if there are headers that the fast path
    does not handle, or if a line is ambiguous.
    """
    if not _SHORT.fullmatch(lines) or b" \r" in lines or b"\t\r" in lines:
        return None  # parsers disagree about whether a trailing space is part of the value
    found = _SHORT_FIELDS.findall(lines)
    fields = {name.lower(): value for name, value in found}
    if (
        len(fields) != len(found)
        or not fields.keys().isdisjoint(_NOT_SHORT)
        or fields.get(b"connection", b"keep-alive").lower() != b"keep-alive"
        or b"host" not in fields
        or not _SHORT_HOST.fullmatch(fields[b"host"])
        or len(accept := fields.get(b"accept", b"")) > _SHORT_ACCEPT
        or accept.count(b",") >= ACCEPT_RANGES
        or not _SHORT_LENGTH.fullmatch(fields.get(b"content-length", b"0"))
    ):
        return None
    return fields, int(fields.get(b"content-length", b"0"))


_SHORT_ACCEPT = 500
_RECENT_BYTES = 500
_recent_fields = lru_cache(256)(_short_fields)
"""The function `_short_fields` with a cache, because a client repeatedly sends the same header fields."""


def validate_chunk_line(data: bytes, at: int) -> None:
    """Raise Problem (malformed-request) if the data at offset `at` is not the beginning of a valid chunk line."""
    if len(data) - at > CHUNK_LINE_BYTES or not _CHUNK_SO_FAR.fullmatch(data, at):
        raise malformed_request(_BAD_CHUNK)


def read_trailer(data: bytes) -> int:
    """Return the length of the trailer fields at the beginning of `data`, or 0 if the trailer fields are incomplete.

    Raises Problem (malformed-request or head-too-large) if the trailer fields are invalid.
    """
    end = data.find(b"\r\n\r\n") + 4
    _validate_size(data[:end] if end > 3 else data)
    if end < 4:
        return 0
    if not _TRAILER.fullmatch(data, 0, end):
        raise malformed_request(_BAD_CHUNK)
    return end


def header_fields(head: bytes) -> list[tuple[bytes, bytes]]:
    """Return the lower-case names and the values of the fields in a header block. Invalid lines are skipped."""
    return [(name.lower(), value.rstrip(b"\t ")) for name, value in _NAMED.findall(head)]


def _validate_parts(head: bytes, fields: bytes) -> None:
    """Raise Problem (head-too-large) if the path, the query or the Accept header is too long.

    `fields` is the header block in lower case.
    """
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
    return Problem("head-too-large", f"{has} {count} {unit}: the limit is {limit}", limit=limit)


def _validate_size(fields: bytes) -> None:
    """Raise Problem (head-too-large) if a header block is too long or has too many fields."""
    if len(fields) > HEAD_BYTES:
        raise Problem(
            "head-too-large",
            f"the request line and headers have more than {HEAD_BYTES} bytes: send long values in the body",
            limit=HEAD_BYTES,
        )
    if fields.count(b"\n") > HEAD_FIELDS + 2:
        raise Problem(
            "head-too-large", f"the request has more than {HEAD_FIELDS} headers: send fewer", limit=HEAD_FIELDS
        )
