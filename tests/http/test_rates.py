"""The rates at which a client sends and reads."""

from __future__ import annotations

from cases import cases

from axiscast_service.http.rates import CHECKS_PER_WINDOW, FLOOR_BYTES, Rates


def never() -> float:
    raise AssertionError


def test_a_silent_client_is_too_slow_after_five_checks_and_no_sooner() -> None:
    rates = Rates(never)
    for look in range(1, CHECKS_PER_WINDOW + 2):
        rates.check(unsent=0, awaited=True)
        assert rates.is_too_slow == (look > CHECKS_PER_WINDOW)
    rates.check(unsent=0, awaited=False)
    assert not rates.is_too_slow


@cases(("nbytes", "is_too_slow"), [(FLOOR_BYTES, False), (FLOOR_BYTES - 1, True)])
def test_a_fast_enough_body_starts_another_window(nbytes: int, is_too_slow: bool) -> None:
    rates = Rates(never)
    for _ in range(CHECKS_PER_WINDOW):
        rates.check(unsent=0, awaited=True)
    rates.received += nbytes
    rates.check(unsent=0, awaited=True)
    assert rates.is_too_slow == is_too_slow


def test_a_client_is_stalled_unless_it_reads_enough_or_all() -> None:
    rates = Rates(never)
    slow, fast, all_read = [10 * FLOOR_BYTES] * 6, [FLOOR_BYTES * (10 - step) for step in range(6)], [9, 9, 0] * 3
    for unsent, is_stalled in ((slow, True), (fast, False), (all_read, False)):
        rates.took_most()
        for left in unsent:
            rates.check(left, awaited=False)
        assert rates.is_stalled == is_stalled


def test_the_rate_of_a_body_counts_from_the_start_of_its_request() -> None:
    now = 0.0
    rates = Rates(lambda: now)
    rates.received += 1000
    now = 5.0
    rates.begin_request()
    rates.received += 30
    now = 8.0
    assert (rates.of_request, rates.per_second()) == (30, 10.0)
