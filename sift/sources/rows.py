"""Reading a vendor's rows tolerantly: every field optional, a wrong type is an absent value (contract: HTTP calls)."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

from sift.errors import SourceError
from sift.search.model import Content, RawHit, Row
from sift.search.urls import read_url

MAX_ROWS = 1000
MAX_URLS = 256 * 1024
USUAL_URL = MAX_URLS // MAX_ROWS
"""Rows read of an answer, and characters of their long URLs. Vendors send tens of short ones; reading 4 MiB of what is
slow to read would take seconds past the deadline, and with them the other sources' answers."""


def rows_of(body: Any, *path: str) -> list[Any]:
    """Return the list at `path`. Raises SourceError when the body has none."""
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    if not isinstance(body, list):
        raise SourceError("bad response")
    return body


def hits_of(rows: list[Any], read: Callable[[Row], Content], *, score: str = "") -> tuple[RawHit, ...]:
    """Make hits of the first MAX_ROWS rows; those without a usable http(s) URL are dropped.

    read: the vendor's own reader of a row, called only for hits that are shown. score: the field with the vendor's
    score; "" where it has none. Raises SourceError when there are more rows and none of these was usable: that is not
    "nothing found".
    """
    hits: list[RawHit] = []
    room = MAX_URLS
    # One loop, since hundreds of rows come with a search.
    for row in rows[:MAX_ROWS]:
        if type(row) is not dict or type(url := row.get("url")) is not str:
            continue
        if len(url) > USUAL_URL:  # shorter ones need no count
            if len(url) > room:
                continue
            room -= len(url)
        if address := read_url(url):
            key, host = address
            number = row.get(score) if score else 0.0
            if type(number) is not float or not isfinite(number):
                number = score_of(number) or 0.0
            hits.append(RawHit(url, key, host, number, row, read))
    if not hits and len(rows) > MAX_ROWS:
        raise SourceError("bad response")
    return tuple(hits)


def text_of(value: object) -> str:
    """Return a text as it is; "" for anything else."""
    return value if isinstance(value, str) else ""


def score_of(value: object) -> float | None:
    """Return a finite number as a float; None for anything else. A JSON boolean is no number."""
    if type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            return None
    return value if type(value) is float and isfinite(value) else None
