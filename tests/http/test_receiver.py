"""The received data of a connection, and the memory for this data."""

from __future__ import annotations

import asyncio

import pytest
from cases import cases
from conversation import Pipe

from axiscast.wire.problems import Problem
from axiscast_service.http.flow_control import FlowControl
from axiscast_service.http.limits import ALLOWANCE_BYTES
from axiscast_service.http.parser import Parser
from axiscast_service.http.rates import Rates
from axiscast_service.http.receiver import TLS_BYTES, Receiver
from axiscast_service.runtime.budget import MemoryBudget


def receiver(budget: MemoryBudget, encrypted: bool = False) -> tuple[Receiver, Parser]:
    loop, parser = asyncio.get_running_loop(), Parser()
    flow = FlowControl(Pipe(loop, encrypted), loop, parser)
    return Receiver(parser, flow, Rates(loop.time), budget), parser


@cases("encrypted", [False, True])
def test_received_data_above_the_allowance_is_reserved_until_it_is_released(encrypted: bool) -> None:
    async def run() -> None:
        budget = MemoryBudget(2**24)
        received, parser = receiver(budget, encrypted)
        received.body += bytes(ALLOWANCE_BYTES)
        received.reserve(in_flight=False)
        assert budget.held == 0
        parser.hold(b"12345")
        received.reserve(in_flight=False)
        assert budget.held == 5
        received.reserve(in_flight=True)
        assert budget.held == 5 + encrypted * TLS_BYTES
        received.release()
        assert (budget.held, received.body, parser.rest) == (0, b"", b"12345")

    asyncio.run(run())


def test_data_without_memory_is_refused() -> None:
    async def run() -> None:
        received, _ = receiver(MemoryBudget(4 * 2**20))
        received.body += bytes(3 * 2**20 + ALLOWANCE_BYTES + 1)
        with pytest.raises(Problem):
            received.reserve(in_flight=False)

    asyncio.run(run())
