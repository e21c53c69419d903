"""Reading a vendor's rows tolerantly: every field optional, a wrong type is an absent value (contract §6)."""

from __future__ import annotations

from math import isfinite
from typing import Any

from sift.errors import SourceError
from sift.search.model import RawHit, Shape
from sift.search.urls import read_url

MAX_ROWS = 1000
"""Rows read of an answer; vendors send tens, and a hostile body of 100,000 would cost seconds past the deadline."""


def rows_of(body: Any, *path: str) -> list[Any]:
    """Give the list at `path`. Raises SourceError when the body has none."""
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    if not isinstance(body, list):
        raise SourceError("bad response")
    return body


def hits_of(rows: list[Any], shape: Shape) -> tuple[RawHit, ...]:
    """Make hits of the first MAX_ROWS rows; those without a usable http(s) URL go."""
    hits: list[RawHit] = []
    scored = shape.score
    for row in rows[:MAX_ROWS]:
        if isinstance(row, dict) and isinstance(url := row.get("url"), str) and (address := read_url(url)):
            key, host = address
            score = row.get(scored) if scored else 0.0
            if type(score) is not float or not isfinite(score):
                score = score_of(score) or 0.0
            # As RawHit(…), in half the time. All this is one loop because hundreds of rows come with a search.
            hits.append(_new(RawHit, (url, key, host, score, row, shape)))
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
