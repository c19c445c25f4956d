"""The end of a connection, with a transport that has no socket."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from cases import cases
from conversation import Unhurried, connection, hooks, turns

from axiscast_service.http.closing import LINGER_BYTES, LINGER_SECONDS, MAX_DRAINING


def run(coroutine: Callable[[], object]) -> None:
    with asyncio.Runner(loop_factory=Unhurried) as runner:
        runner.run(coroutine())  # type: ignore[arg-type]


def test_a_drained_upload_ends_with_its_last_byte() -> None:
    async def drain() -> None:
        pipe, protocol = connection(hooks())
        protocol.closing.linger(due=10, drains=True)
        assert pipe.ended
        protocol.closing.discard(9)
        await asyncio.sleep(10 * LINGER_SECONDS)
        assert not pipe.closing
        protocol.closing.discard(1)
        assert pipe.closing

    run(drain)


@cases(("drains", "limit"), [(True, 200), (False, LINGER_BYTES)])
def test_a_lingering_close_discards_a_limited_number_of_bytes(drains: bool, limit: int) -> None:
    async def linger() -> None:
        pipe, protocol = connection(hooks(max_body_bytes=100))
        protocol.closing.linger(due=None, drains=drains)
        protocol.closing.discard(limit - 1)
        assert not pipe.paused
        protocol.closing.discard(1)
        assert pipe.paused
        await asyncio.sleep(0.9 * LINGER_SECONDS)
        assert not pipe.closing
        await asyncio.sleep(0.2 * LINGER_SECONDS)
        assert pipe.closing

    run(linger)


def test_few_uploads_are_drained_at_the_same_time() -> None:
    async def drain() -> None:
        shared = hooks()
        protocols = [connection(shared)[1] for _ in range(MAX_DRAINING + 2)]
        for protocol in protocols[:-1]:
            protocol.closing.linger(due=10, drains=True)
        assert [protocol.closing.drains for protocol in protocols[:-1]] == [True] * MAX_DRAINING + [False]
        protocols[0].connection_lost(None)
        protocols[-1].closing.linger(due=10, drains=True)
        assert protocols[-1].closing.drains

    run(drain)


def test_a_cut_connection_is_counted_and_closed_with_unsent_data() -> None:
    async def cut() -> None:
        reasons: list[str] = []
        pipe, protocol = connection(hooks(refused=reasons.append))
        protocol.closing.cut("no-room")
        await turns()
        assert (pipe.lost, reasons, protocol.closing.has_begun) == (True, ["no-room"], True)

    run(cut)
