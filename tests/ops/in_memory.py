"""A client that passes requests to the fast path of the service in memory, without sockets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import httpx
import pytest
from conftest import Served

from axiscast import Client
from axiscast.client.connection_pool import RESPONSE_TAKEN
from axiscast.client.http_exchange import HttpExchange
from axiscast.client.sync_transport import SyncTransport
from axiscast_service.app import create_app
from axiscast_service.settings import Settings


class InMemoryTransport(SyncTransport):
    """A transport that sends the bytes of a request to the fast path, or to a service if the fast path declines."""

    def __init__(self) -> None:
        super().__init__(None)
        self._fast_path = create_app(Settings(metrics=False)).state.dispatcher
        self._scratch = memoryview(bytearray(2**16))
        self.counts: Counter[bool] = Counter()
        """The number of requests that the fast path has declined and answered."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        exchange = HttpExchange(request, self._scratch)
        sent = b"".join(part for chunk in exchange.body_chunks for part in exchange.bytes_for(chunk))
        answer = self._fast_path.answer(sent + exchange.last_bytes(), (), None)
        self.counts[answer is not None] += 1
        if answer is None:
            return super().handle_request(request)
        rest = memoryview(answer[0])
        while rest:
            buffer = exchange.buffer()
            count = min(len(buffer), len(rest))
            buffer[:count] = rest[:count]
            exchange.received(count)
            rest = rest[count:]
        assert exchange.is_complete
        return RESPONSE_TAKEN


@pytest.fixture(scope="module")
def fast_client(service: Served) -> Iterator[Client]:
    """Return a client whose short requests need no sockets."""
    transport = InMemoryTransport()
    with Client(service.url, transport=transport) as client:
        yield client
    assert transport.counts[True] > transport.counts[False]
