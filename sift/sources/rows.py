"""Tolerant reading of a vendor's rows: fields are optional, a wrong type counts as absent (contract: HTTP calls)."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import isfinite
from typing import Any

from sift.errors import SourceError
from sift.search.model import Content, RawHits, Row
from sift.search.urls import Address, read_short_url, read_url

MAX_ROWS = 1000
MAX_URLS = 256 * 1024
USUAL_URL = MAX_URLS // MAX_ROWS
"""Limits on what is read of an answer: rows, and characters of their long URLs. Vendors send tens of short ones; a body
made to be slow to read would otherwise run far past the deadline and hold up the other sources' hits."""
MAX_DATE = 100
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


def rows_of(body: Any, *path: str) -> list[Any]:
    """Return the list at `path`. Raises SourceError if there is none."""
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    if not isinstance(body, list):
        raise SourceError("bad response")
    return body


def hits_of(rows: list[Any], read: Callable[[Row], Content]) -> RawHits:
    """Return the hits among the first MAX_ROWS rows, without those that lack a usable http(s) URL.

    read: the vendor's own row reader. Raises SourceError if none of the first MAX_ROWS is usable and more follow: that
    is not "nothing found".
    """
    addresses: list[Address] = []
    usable: list[Row] = []
    room = MAX_URLS
    for row in rows[:MAX_ROWS]:
        if type(row) is not dict or type(url := row.get("url")) is not str:
            continue
        if len(url) <= USUAL_URL:  # these cannot exceed the limit together
            address = read_short_url(url) if url.isascii() else read_url(url)
        elif len(url) <= room:
            room -= len(url)
            address = read_url(url)
        else:
            continue
        if address:
            addresses.append(address)
            usable.append(row)
    if not usable and len(rows) > MAX_ROWS:
        raise SourceError("bad response")
    return RawHits(tuple(addresses), tuple(usable), read)


def text_of(value: object) -> str:
    """Return a string unchanged, "" for any other value."""
    return value if isinstance(value, str) else ""


def date_of(value: object) -> str:
    """Return a date unchanged, "" for any other value: "3 days ago" is none, as it is wrong tomorrow.

    What has a year is a date, as relative ones have none in any language.
    """
    return value if value and type(value) is str and len(value) <= MAX_DATE and _YEAR.search(value) else ""


def score_of(value: object) -> float:
    """Return a finite number as a float, 0.0 for any other value. A JSON boolean is not a number."""
    if type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            return 0.0
    return value if type(value) is float and isfinite(value) else 0.0
