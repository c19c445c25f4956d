"""Conversion of ISO 8601 dates to exact integer counts of a datetime64 unit."""

from __future__ import annotations

import re
from calendar import isleap

from .shapes import MAX_SIZE

_ISO_DATE = re.compile(
    r"([+-]?[0-9]{4,18})(?:-([0-9]{2})(?:-([0-9]{2})"
    r"(?:[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,18}))?)?)?)?)?)?Z?"
)
_SECOND = 10**18
_ATTOSECONDS = {
    "W": 604_800 * _SECOND, "D": 86_400 * _SECOND, "h": 3_600 * _SECOND, "m": 60 * _SECOND, "s": _SECOND,
    "ms": 10**15, "us": 10**12, "ns": 10**9, "ps": 10**6, "fs": 1000, "as": 1,
}  # fmt: skip
_MONTHS = {"Y": 12, "M": 1}
_MONTH_DAYS = (0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def date_count(text: str, unit: str, multiple: int) -> int | None:
    """Return the time from 1970-01-01 to a date as a count of `multiple` units. Earlier dates have negative counts.

    Return None if the string is not a date, if the date is finer than the unit, or if an int64 cannot hold the number.
    NumPy's own conversion is not used: for distant dates, some NumPy releases raise an exception and others wrap
    around.
    """
    match = _ISO_DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2] or 1), int(match[3] or 1)
    hour, minute, second = (int(part or 0) for part in match.group(4, 5, 6))
    if not (1 <= month <= 12 and 1 <= day <= _days_in(year, month) and hour < 24 and minute < 60 and second < 60):
        return None
    clock = ((hour * 60 + minute) * 60 + second) * _SECOND + int((match[7] or "").ljust(18, "0"))
    if unit in _MONTHS:
        count, rest = divmod(12 * (year - 1970) + month - 1, _MONTHS[unit] * multiple)
        rest += day - 1 + clock
    else:
        days = _days_before(year, month) + day - 1
        count, rest = divmod(days * _ATTOSECONDS["D"] + clock, _ATTOSECONDS[unit] * multiple)
    return count if not rest and -MAX_SIZE <= count <= MAX_SIZE else None


def _days_in(year: int, month: int) -> int:
    return _MONTH_DAYS[month] + (month == 2 and isleap(year))


def _days_before(year: int, month: int) -> int:
    """Return the number of days from 1970-01-01 to the first day of a month, in the Gregorian calendar."""
    past = year - 1
    # 719,162 is the number of days in the years 1 to 1969.
    days = 365 * past + past // 4 - past // 100 + past // 400 - 719_162
    return days + sum(_MONTH_DAYS[:month]) + (month > 2 and isleap(year))
