"""Tests of conversations in random order: each request gets a response, and all resources are freed."""

from __future__ import annotations

import asyncio
from collections import deque
from random import Random

import pytest
from cases import cases
from conversation import STEPS, Pipe, connection, hooks, numbers, request, responses, turns

from axiscast_service.http.hooks import Hooks
from axiscast_service.http.limits import Connections
from axiscast_service.http.protocol import HTTPProtocol

SEEDS = range(4)
CONVERSATIONS = 150
"""The number of conversations for each seed."""


def step(random: Random, pipe: Pipe, left: bytearray) -> None:
    """Send or read a few bytes."""
    if random.random() < 0.6:
        piece = bytes(left[: random.choice([1, 7, 100, 5000, 2**20])])
        del left[: pipe.deliver(piece)]
    else:
        pipe.take(random.choice([1, 1000, 2**20]))


async def finish(pipe: Pipe, left: bytearray, count: int, protocol: HTTPProtocol) -> None:
    """Send the remaining bytes and read all responses."""
    for _ in range(STEPS):
        del left[: pipe.deliver(bytes(left[: 2**16]))]
        pipe.take(2**20)
        if not left and len(numbers(pipe.received)) == count and protocol.cycle is None and not pipe.unsent:
            return
        if pipe.lost:
            return
        await asyncio.sleep(0)
    state = [vars(part) for part in (protocol, protocol.flow, protocol.closing, protocol.receiver, protocol.parser)]
    pytest.fail(f"stuck, {len(left)} bytes unread: {state}")


async def converse(random: Random, shared: Hooks) -> None:
    count = random.choice([1, 2, 5, 60])
    requests = [request(random, number) for number in range(count)]
    left = bytearray(b"".join(each.data for each in requests))
    pipe, protocol = connection(shared, random.random() < 0.3)
    resets = random.random() < 0.3
    for _ in range(random.randrange(60)):
        step(random, pipe, left)
        if random.random() < 0.5:
            await asyncio.sleep(0)
    if resets:
        pipe.lose(ConnectionResetError())
        await asyncio.sleep(0)
        return
    await finish(pipe, left, count, protocol)
    assert responses(pipe.received) == [(number, one.nbytes, one.response_bytes) for number, one in enumerate(requests)]
    pipe.end()
    for _ in range(20):
        await asyncio.sleep(0)
    assert pipe.lost


@cases("seed", SEEDS)
def test_a_conversation_is_never_stuck_and_frees_its_resources(seed: int) -> None:
    async def run() -> None:
        shared = hooks()
        random = Random(seed)
        waiting = deque(Random(random.random()) for _ in range(CONVERSATIONS))

        async def talk() -> None:
            while waiting:
                await converse(waiting.popleft(), shared)

        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(talk())
        for _ in range(20):
            await asyncio.sleep(0)
        assert shared.budget.held == 0
        assert vars(shared.connections) == vars(Connections())

    asyncio.run(run())


BROKEN = (
    b"GET / HTTP/1.1\r\n\r\n",
    b"POST /x?9 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n;x\r\n",
    b"POST /x?9 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n1\r\n.\r\n;x\r\n",
    b"POST /x?9 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n11170\r\n" + bytes(70_000) + b".\r\n",
    b"CHECK\r\n",
)


@cases("seed", SEEDS)
def test_a_malformed_request_is_refused_among_any_other_requests(seed: int) -> None:
    async def converse_badly(random: Random, shared: Hooks) -> None:
        requests = [request(random, number) for number in range(random.choice([0, 1, 3]))]
        left = bytearray(b"".join(each.data for each in requests) + random.choice(BROKEN))
        left += bytes(random.choice([0, 0, 100, 2**18]))
        pipe, protocol = connection(shared, random.random() < 0.2)
        ends = not requests and not pipe.get_extra_info("sslcontext") and random.random() < 0.5
        reads_late = random.random() < 0.5
        for _ in range(STEPS):
            if not pipe.closing:
                del left[: pipe.deliver(bytes(left[: random.choice([1, 100, 5000, 2**16])]))]
            if ends and not left:
                ends = False
                pipe.end()
            if not reads_late or not left or pipe.paused or pipe.full:
                pipe.take(random.choice([1000, 2**20]))
            if b"HTTP/1.1 4" in pipe.received or pipe.lost:
                break
            if random.random() < 0.7:
                await asyncio.sleep(0)
        assert pipe.received.count(b"HTTP/1.1 400 ") + pipe.received.count(b"HTTP/1.1 431 ") == 1, (
            bytes(pipe.received[-200:]),
            protocol.parser.phase,
        )
        pipe.lose()

    async def run() -> None:
        shared, random = hooks(), Random(seed)
        for _ in range(100):
            await converse_badly(random, shared)
        await turns()
        assert shared.budget.held == 0
        assert vars(shared.connections) == vars(Connections())

    asyncio.run(run())
