"""Reading a vendor's rows tolerantly: every field optional, a wrong type is an absent value (contract §6)."""

from __future__ import annotations

from math import isfinite
from typing import Any

from sift.errors import SourceError
from sift.search.model import RawHit, Shape
from sift.search.urls import read_url

MAX_ROWS = 1000
MAX_URLS = 256 * 1024
USUAL_URL = MAX_URLS // MAX_ROWS
"""Rows read of an answer, and characters of their long URLs. Vendors send tens of short ones; reading 4 MiB of what is
slow to read would take seconds past the deadline, and with them the other sources' answers."""


def rows_of(body: Any, *path: str) -> list[Any]:
    """Give the list at `path`. Raises SourceError when the body has none."""
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    if not isinstance(body, list):
        raise SourceError("bad response")
    return body


def hits_of(rows: list[Any], shape: Shape) -> tuple[RawHit, ...]:
    """Make hits of the first MAX_ROWS rows; those without a usable http(s) URL go.

    Raises SourceError when there are more rows and none of these was usable: that is not "nothing found".
    """
    hits: list[RawHit] = []
    scored, room = shape.score, MAX_URLS
    for row in rows[:MAX_ROWS]:
        if type(row) is not dict or type(url := row.get("url")) is not str:
            continue
        if len(url) > USUAL_URL:  # shorter ones need no count
            if len(url) > room:
                continue
            room -= len(url)
        if address := read_url(url):
            key, host = address
            score = row.get(scored) if scored else 0.0
            if type(score) is not float or not isfinite(score):
                score = score_of(score) or 0.0
            # As RawHit(…), in half the time. All this is one loop because hundreds of rows come with a search.
            hits.append(_new(RawHit, (url, key, host, score, row, shape)))
    if not hits and len(rows) > MAX_ROWS:
        raise SourceError("bad response")
    return tuple(hits)


_new = tuple.__new__


def score_of(value: Any) -> float | None:
    """Give a finite number as a float; None for anything else. A JSON boolean is no number."""
    if type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            return None
    return value if type(value) is float and isfinite(value) else None
