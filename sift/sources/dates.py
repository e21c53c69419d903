"""What day a vendor's date is, and whether a filter of dates means it (contract: Dates and topics)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime

from sift.search.model import Filter

TOLERANCE = 1
"""Days: a date without a time zone may be of the day before or after."""
_SPANS = {"day": 1, "week": 7, "month": 31, "year": 366}
_ISO_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])")


def is_iso(text: str) -> bool:
    """Whether a text begins as an ISO date does."""
    return _ISO_DAY.match(text) is not None


def day_of(text: str) -> date | None:
    """Return the day at the beginning of an ISO date or time, None without one."""
    found = _ISO_DAY.match(text)
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:
        return None


def count_outside(dates: Iterable[str], filter: Filter, now: float) -> int:
    """Return how many dates are certainly outside the filter's; those that name no day are not. now: Unix time."""
    earliest, latest = 0, date.max.toordinal() + 1
    if filter.time_range:
        earliest = datetime.fromtimestamp(now, UTC).toordinal() - _SPANS[filter.time_range]
    if filter.start_date:
        earliest = date.fromisoformat(filter.start_date).toordinal()
    if filter.end_date:
        latest = date.fromisoformat(filter.end_date).toordinal()
    days = [day.toordinal() for text in dates if (day := day_of(text))]
    return sum(not earliest - TOLERANCE <= day <= latest + TOLERANCE for day in days)
