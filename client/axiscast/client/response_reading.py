"""Readers for responses without tensors, and the interface of all response readers. This module performs no IO."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

import httpx
from pydantic import ValidationError

from ..errors import AxiscastError, InvalidAnswer, UnexpectedStatus, problem_from
from ..wire.codec import Encoding, decode
from ..wire.prescan import ReserveMemory
from ..wire.problems import Problem

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Chunk = bytes | bytearray | memoryview
EMPTY_BUFFER = memoryview(b"")

MAX_PROBLEM_BYTES = 2**20
"""The maximum size, in bytes, of a problem document that the client reads."""
MAX_VALUES_BYTES = 64 * 2**20
"""The maximum size of a response without tensors, in bytes, for any number of inputs."""
VALUES_BYTES = 4 * 2**20
"""The maximum size, in bytes, of a response without tensors to a request without inputs, such as the list of ops."""
VALUES_BYTES_PER_INPUT = 16 * 2**10
"""The number of bytes by which each input raises the maximum response size. 64 axes with long names fit."""
MEMORY_PER_BYTE = 16
"""The maximum memory for decoded values, in bytes per byte of the response."""
MAX_VALUES_MEMORY = 512 * 2**20
"""The maximum memory, in bytes, for the decoded values of one response."""


def max_values_bytes(inputs: int) -> int:
    """Return the maximum size, in bytes, of a response without tensors to a request with this number of inputs."""
    return min(VALUES_BYTES + inputs * VALUES_BYTES_PER_INPUT, MAX_VALUES_BYTES)


class ResponseReader(Protocol[T_co]):
    """The interface of objects that read a response body while its bytes arrive."""

    def buffer(self) -> memoryview:
        """Return the memory into which to receive the next bytes. If it is empty, pass the bytes to `feed` instead."""
        ...

    def received(self, count: int) -> None:
        """Process `count` bytes of the body that were written into `buffer()`."""
        ...

    def feed(self, chunk: Chunk) -> None:
        """Process the next bytes of the body."""
        ...

    def finish(self) -> T_co:
        """Return the result, once the whole body has arrived. Raises InvalidAnswer if the body is incomplete."""
        ...


class WholeBodyReader(Generic[T]):
    """A reader that collects a whole response body of at most `max_bytes`, and then decodes the body.

    The second argument of `decode_body` is a function that limits the memory for decoded values. If the body is too
    long, the exception `too_long` is raised. By default, it is InvalidAnswer.
    """

    def __init__(
        self, max_bytes: int, decode_body: Callable[[bytes, ReserveMemory], T], too_long: AxiscastError | None = None
    ) -> None:
        self._body = bytearray()
        self._max_bytes = max_bytes
        self._decode_body = decode_body
        self._too_long = too_long

    def buffer(self) -> memoryview:
        return EMPTY_BUFFER

    def received(self, count: int) -> None:
        raise AssertionError("this reader has no buffer")

    def feed(self, chunk: Chunk) -> None:
        if len(self._body) + len(chunk) > self._max_bytes:
            limit = f"{self._max_bytes} bytes, the limit for a response to this request"
            raise self._too_long or InvalidAnswer(f"the response has more than {limit}")
        self._body += chunk

    def finish(self) -> T:
        return self._decode_body(bytes(self._body), self._reserve)

    def _reserve(self, nbytes: int) -> None:
        if nbytes > min(self._max_bytes * MEMORY_PER_BYTE, MAX_VALUES_MEMORY):
            raise InvalidAnswer(f"the values of the response would take {nbytes} bytes, more than any valid response")


def model_reader(model: Any, inputs: int, finish: Callable[[Any], T]) -> WholeBodyReader[T]:
    """Return a reader for a response that is one pydantic model. `finish` converts the model into the result."""

    def decode_body(body: bytes, reserve: ReserveMemory) -> T:
        try:
            return finish(model.model_validate(decode(body, Encoding.MSGPACK, reserve, is_answer=True)))
        except (Problem, ValidationError) as error:
            raise InvalidAnswer(f"the response does not match the schema: {one_line(error)}") from None

    return WholeBodyReader(max_values_bytes(inputs), decode_body)


def one_line(error: Exception) -> str:
    """Return the message of an exception as one line of at most 200 characters."""
    return " ".join(str(error).split())[:200]


def problem_reader(media: str, status: int) -> WholeBodyReader[Any]:
    """Return a reader for a problem document. The reader raises the problem as an exception.

    If the body is not a valid problem document, the reader raises UnexpectedStatus.
    """
    unexpected = unexpected_status(status)

    def decode_body(body: bytes, reserve: ReserveMemory) -> Any:
        try:
            document = decode(body, Encoding.JSON if media.endswith("json") else Encoding.MSGPACK, reserve)
            is_problem = isinstance(document, dict) and isinstance(document.get("code"), str)
            problem = problem_from(document, status) if is_problem else None
        except (ValueError, Problem):
            problem = None
        raise unexpected if problem is None else problem

    return WholeBodyReader(MAX_PROBLEM_BYTES, decode_body, unexpected)


def unexpected_status(status: int) -> UnexpectedStatus:
    """Return the exception for a response that has this status and no problem document."""
    status_line = f"{status} {httpx.codes.get_reason_phrase(status)}".strip()
    advice = "redirects are not followed" if 300 <= status < 400 else "a proxy may have sent it"
    advice += ", or the URL is not the URL of an axiscast service"
    return UnexpectedStatus(f"the response has status {status_line} but no problem document: {advice}", status)
