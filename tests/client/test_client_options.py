"""The options of a client and of its methods. A value of the wrong type raises TypeError with the expected type."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from cases import cases

from axiscast import AsyncClient, Client, Transfer

ROW = np.array([1.0, 2.0, 3.0])
OF_CLIENTS: list[tuple[dict[str, Any], str]] = [
    ({"url": 8000}, "url must be the address of a service, such as http://127.0.0.1:8000, not an int"),
    ({"url": None}, "url must be the address of a service, such as http://127.0.0.1:8000, not None"),
    ({"timeout": "3"}, "timeout must be a number of seconds or None, not a str"),
    ({"timeout": True}, "timeout must be a number of seconds or None, not a bool"),
    ({"timeout": httpx.Timeout(5)}, "timeout must be a number of seconds or None, not a Timeout"),
    ({"retries": "3"}, "retries must be an integer such as 2, not a str"),
    ({"retries": True}, "retries must be an integer such as 2, not a bool"),
    ({"retries": None}, "retries must be an integer such as 2, not None"),
    ({"retries": 2.0}, "retries must be an integer such as 2, not a float"),
    ({"headers": ["a"]}, 'headers must be a map of strings such as {"X-Team": "blue"}, not a list'),
    ({"headers": "X-Team: blue"}, 'headers must be a map of strings such as {"X-Team": "blue"}, not a str'),
    ({"headers": {"X-Team": 3}}, 'headers must be a map of strings such as {"X-Team": "blue"}, not a dict'),
    ({"api_key": 3}, "api_key must be a string, not an int"),
    ({"api_key": b"key"}, "api_key must be a string, not a bytes"),
]
OF_WITH_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"timeout": "3"}, "timeout must be a number of seconds or None, not a str"),
    ({"progress": True}, "progress must be a function that takes a Transfer, not a bool"),
]
OF_CALLS: list[tuple[dict[str, Any], str]] = [
    ({"window": True}, "a window must have a slice or a pair (start, stop) for each output axis, not True"),
    ({"window": 1}, "a window must have a slice or a pair (start, stop) for each output axis, not 1"),
    ({"window": "0:1"}, "a window must have a slice or a pair (start, stop) for each output axis, not '0:1'"),
    ({"window": {"a": 1}}, "a window must have a slice or a pair (start, stop) for each output axis, not {'a': 1}"),
    ({"window": [(0, 1), None]}, "a window must have a slice or a pair (start, stop) for each output axis, not None"),
]


@cases("kind", [Client, AsyncClient])
@cases(("options", "says"), OF_CLIENTS, ids=str)
def test_an_option_of_the_wrong_type_is_rejected_by_the_constructor(
    kind: Callable[..., Any], options: dict[str, Any], says: str
) -> None:
    with pytest.raises(TypeError) as caught:
        kind(**options)
    assert says in str(caught.value)


@cases(
    "options",
    [
        {"timeout": None}, {"timeout": 3}, {"timeout": np.float32(3)}, {"retries": 0}, {"retries": np.int64(1)},
        {"url": httpx.URL("http://127.0.0.1:8000")}, {"headers": httpx.Headers({"X-Team": "blue"})}, {"api_key": "k"},
    ],
    ids=str,
)  # fmt: skip
def test_options_of_the_right_types_are_accepted(options: dict[str, Any]) -> None:
    Client(**options).close()


@pytest.fixture(scope="module")
def calls() -> Iterator[list[Callable[..., Any]]]:
    with Client.in_process() as client:
        yield [
            client.broadcast_to,
            lambda *values, **options: asyncio.run(AsyncClient.in_process().broadcast_to(*values, **options)),
        ]


@pytest.mark.parametrize(("options", "says"), OF_CALLS, ids=str)
def test_an_option_of_the_wrong_type_is_rejected_before_a_call_is_sent(
    calls: list[Callable[..., Any]], options: dict[str, Any], says: str
) -> None:
    for call in calls:
        with pytest.raises(TypeError) as caught:
            call(ROW, (2, 3), **options)
        assert says in str(caught.value)
        assert call(ROW, (2, 3), window=np.s_[:1]).tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(("options", "says"), OF_WITH_OPTIONS, ids=str)
def test_with_options_rejects_an_option_of_the_wrong_type(
    kind: Callable[..., Any], options: dict[str, Any], says: str
) -> None:
    with pytest.raises(TypeError) as caught:
        kind().with_options(**options)
    assert says in str(caught.value)


def test_options_of_a_client_do_not_change_the_original_client() -> None:
    seen = list[Transfer]()
    with Client.in_process() as client:
        other = client.with_options(timeout=np.float32(60), progress=seen.append)
        assert other.can_broadcast((3,), (3,))
        assert len(seen) == 2
        assert client.can_broadcast((3,), (3,))
        assert len(seen) == 2
        assert (client._timeout, other._timeout, other.with_options()._timeout) == (60.0, 60, 60)
