"""The places of connections: which connection is closed for a new one."""

from __future__ import annotations

from itertools import count

import pytest

from axiscast_service.http.limits import (
    GROWN_TLS_BYTES,
    IN_USE_SECONDS,
    MAX_COMPARED,
    MAX_GROWN_TLS,
    Connections,
    Place,
    Queue,
)
from axiscast_service.http.rates import Rates


class Holder:
    """The place of a connection with a name. Nothing is connected."""

    def __init__(self, every: Connections, name: str, queue: Queue | None = None, body: int = 0) -> None:
        self.name, self.was_cut = name, False
        self.place = Place(every, Rates(clock=count().__next__))
        self.place.take(None, self.cut)
        self.place.rates.begin_request()
        self.place.rates.received += body
        if queue is None:
            self.place.leave()
        else:
            self.place.wait(queue)

    def cut(self, reason: str) -> None:
        assert reason == "no-room"
        was_cut.append(self.name)
        self.was_cut = True
        self.place.forget()


was_cut: list[str] = []


def test_connections_are_closed_in_the_order_of_their_use(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    every = Connections(clock=lambda: now)
    for name, queue, body in (
        ("fast body", every.arriving, 2),
        ("slow body", every.arriving, 1),
        ("unread", every.unread, 0),
        ("idle for long", every.idle, 0),
        ("idle", every.idle, 0),
        ("lingering", every.lingering, 0),
        ("its request is unread", every.unserved, 0),
        ("silent for long", every.unserved, 0),
        ("silent", every.unserved, 0),
        ("in flight", None, 0),
    ):
        holder = Holder(every, name, queue, body)
        monkeypatch.setattr(holder.place, "has_unread_data", lambda unread="request" in name: unread)
    now = IN_USE_SECONDS
    Holder(every, "just served", every.idle)
    Holder(every, "unread since now", every.unread)
    was_cut.clear()
    while every.close_one_for_capacity():
        pass
    order = "silent for long, silent, idle for long, idle, lingering, unread, unread since now, slow body, fast body"
    assert ", ".join(was_cut) == order


def test_choosing_a_connection_takes_the_same_time_for_any_number_of_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[Place] = []
    monkeypatch.setattr(Place, "has_unread_data", lambda place: looks.append(place) or True)
    every = Connections(limit=2000, clock=lambda: 0.0)
    for number in range(1000):
        Holder(every, str(number), every.unserved)
        Holder(every, str(number), every.idle)
    assert not every.close_one_for_capacity()
    assert len(looks) == MAX_COMPARED


def test_a_place_is_counted_until_it_is_given_back() -> None:
    every = Connections(limit=8)
    holders = [Holder(every, str(number)) for number in range(9)]
    holders[0].place.take(None, holders[0].cut)  # a second call does not count
    assert (every.total, every.above_limit) == (9, True)
    assert Holder(every, "above the reserve").place.is_refused
    assert not any(holder.place.is_refused for holder in holders)
    holders[8].place.give_back()
    every.draining.add(holders[7].place)
    holders[7].place.give_back()
    assert (every.total, every.draining) == (8, set())


def test_a_place_above_the_limit_is_closed_once() -> None:
    every = Connections(limit=8, clock=count(step=IN_USE_SECONDS).__next__)
    holders = [Holder(every, str(number)) for number in range(9)]
    for holder in holders[:2]:
        holder.place.wait(every.idle)
    every.close_excess()
    every.close_excess()
    assert [holder.was_cut for holder in holders] == [True] + [False] * 8


def test_few_places_keep_grown_tls_buffers() -> None:
    every = Connections()
    holders = [Holder(every, str(number), every.idle, GROWN_TLS_BYTES + 1) for number in range(MAX_GROWN_TLS + 2)]
    holders[0].place.leave()  # its next request is in flight
    for holder in holders[:-1]:
        holder.place.grow_tls()
    assert [holder.name for holder in holders if holder.was_cut] == ["1"]
    holders[1].place.give_back()
    short = Holder(every, "short", every.idle, GROWN_TLS_BYTES)
    short.place.grow_tls()
    assert not short.place.has_grown_tls
    holders[-1].place.grow_tls()
    assert [holder.name for holder in holders if holder.was_cut] == ["1", "2"]
