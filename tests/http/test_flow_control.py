"""Writing, and pausing in both directions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from conversation import Pipe, turns

from axiscast_service.http.flow_control import FlowControl
from axiscast_service.http.parser import Parser


def run(test: Callable[[Pipe, FlowControl, Parser], Awaitable[None]]) -> None:
    async def call() -> None:
        loop, parser = asyncio.get_running_loop(), Parser()
        pipe = Pipe(loop)
        await test(pipe, FlowControl(pipe, loop, parser), parser)

    asyncio.run(call())


def test_all_writers_continue_when_the_client_reads() -> None:
    async def wait(pipe: Pipe, flow: FlowControl, parser: Parser) -> None:
        flow.is_writing_paused = True
        waiting = [asyncio.ensure_future(flow.writable()) for _ in range(2)]
        await turns()
        assert [one.done() for one in waiting] == [False, False]
        flow.resume_writing()
        await turns()
        assert [one.done() for one in waiting] == [True, True]

    run(wait)


def test_the_taken_bytes_are_those_that_are_written_and_not_unsent() -> None:
    async def write(pipe: Pipe, flow: FlowControl, parser: Parser) -> None:
        flow.write(b"12345")
        assert (flow.unsent(), flow.taken()) == (5, 0)
        pipe.take(3)
        assert (flow.unsent(), flow.taken()) == (2, 3)

    run(write)


def test_reading_resumes_only_when_received_data_is_parsed() -> None:
    async def read(pipe: Pipe, flow: FlowControl, parser: Parser) -> None:
        flow.pause_reading()
        assert pipe.paused
        parser.is_behind = True
        flow.resume_reading()
        assert pipe.paused
        parser.is_behind = False
        flow.resume_reading()
        assert not pipe.paused

    run(read)


def test_a_connection_that_has_ended_sends_and_reads_nothing() -> None:
    async def end(pipe: Pipe, flow: FlowControl, parser: Parser) -> None:
        flow.pause_reading()
        flow.is_writing_paused = True
        flow.end()
        flow.write(b"12345")
        flow.resume_reading()
        await asyncio.wait_for(flow.writable(), 10)
        assert (pipe.paused, pipe.unsent) == (True, b"")

    run(end)
