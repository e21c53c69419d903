"""Vendors' dates against a filter of dates (contract: Dates and topics, Notes)."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sift.search.model import Filter
from sift.sources.dates import count_outside, day_of
from sift.sources.rows import date_of
from tests.fakes import NOON

DAYS = [
    ("2026-09-28T07:30:00", date(2026, 9, 28)),
    ("2026-09-28T06:05:11+00:00", date(2026, 9, 28)),
    ("2026-09-27T21:14:03.512344", date(2026, 9, 27)),
    ("2026-09-27T21:14:03.512344-07:00", date(2026, 9, 27)),
    ("2026-09-28 07:30:00", date(2026, 9, 28)),
    ("2026-09-28 16:34:52+0000", date(2026, 9, 28)),
    ("2026-09-28", date(2026, 9, 28)),
    ("0001-01-01T00:00:00", date(1, 1, 1)),
    ("Dec 31, 2018", None),
    ("31.12.2018", None),
    ("2 hour(s), 5 minute(s) ago", None),
    ("2026-02-30T00:00:00", None),
    ("2026-09-281", None),
    ("2026", None),
    ("٢٠٢٦-09-28", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "day"), DAYS)
def test_day_of_a_date_is_read_from_its_iso_form_alone(text: str, day: date | None) -> None:
    """contract: Dates and topics: every form that SearXNG sends; no other is guessed at."""
    assert day_of(text) == day


@pytest.mark.parametrize(
    ("value", "is_date"),
    [
        ("Tue, 01 Sep 2026 08:00:00 GMT", True),
        ("2026-09-01", True),
        ("Dec 31, 2018", True),
        ("2018年12月31日", True),
        ("2 hour(s), 5 minute(s) ago", False),
        ("vor 3 Tagen", False),
        ("12345 minutes ago", False),
        ("not a date", False),
        ("2026-09-01" + " " * 91, False),
        (20260901, False),
        (None, False),
    ],
)
def test_date_without_a_year_is_none(value: Any, is_date: bool) -> None:
    """contract: Search answer: a relative date would be wrong by tomorrow, in the cache and elsewhere."""
    assert date_of(value) == (value if is_date else "")


# NOON is in 2026-09-29
OUTSIDE = [
    (Filter(time_range="day"), "2026-09-26", "2026-09-27"),
    (Filter(time_range="week"), "2026-09-20T23:59:59", "2026-09-21T00:00:00"),
    (Filter(time_range="month"), "2026-08-27 00:00:00", "2026-08-28 00:00:00"),
    (Filter(time_range="year"), "2025-09-26", "2025-09-27"),
    (Filter(start_date="2026-09-10"), "2026-09-08", "2026-09-09"),
    (Filter(end_date="2026-09-10"), "2026-09-12", "2026-09-11"),
    (Filter(start_date="2026-09-10", end_date="2026-09-10"), "2026-09-12", "2026-09-11"),
    (Filter(start_date="2026-09-10", end_date="2026-09-10"), "2026-09-08", "2026-09-09"),
    (Filter(start_date="0001-01-01", end_date="9999-12-31"), None, "0001-01-01"),
    (Filter(start_date="0001-01-01", end_date="9999-12-31"), None, "9999-12-31"),
    (Filter(time_range="day"), None, "2026-12-24"),
    (Filter(time_range="day"), None, "Dec 31, 2018"),
    (Filter(), None, "0001-01-01"),
]


@pytest.mark.parametrize(("chosen", "outside", "inside"), OUTSIDE)
def test_date_is_outside_a_filter_by_more_than_a_day(chosen: Filter, outside: str | None, inside: str) -> None:
    """contract: Notes: a day of tolerance for time zones; a time range says how old a page may be."""
    assert count_outside([inside], chosen, NOON) == 0
    if outside:
        assert count_outside([outside, inside, outside], chosen, NOON) == 2
