"""Reading a vendor's rows tolerantly: every field optional, a wrong type is an absent value (contract §6)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from sift.errors import SourceError
from sift.search.model import RawHit
from sift.search.urls import read_url


def rows_of(body: Any, *path: str) -> list[dict[str, Any]]:
    """Give the objects of the list at `path`. Raises SourceError when the body has no such list."""
    for name in path:
        body = body.get(name) if isinstance(body, dict) else None
    if not isinstance(body, list):
        raise SourceError("bad response")
    return [row for row in body if isinstance(row, dict)]


def raw_hit(url: Any, title: str, texts: Iterable[Any], score: float = 0.0, published_date: Any = "") -> RawHit | None:
    """Make a hit of a row's fields; None when its URL is no usable http(s) URL."""
    address = read_url(url) if isinstance(url, str) else None
    if address is None:
        return None
    return RawHit(
        url,
        address.key,
        address.host,
        title,
        tuple([text for text in texts if isinstance(text, str)]),
        score,
        published_date if isinstance(published_date, str) else "",
    )


def text_of(value: Any) -> str:
    """Give a string as it is, anything else as ""."""
    return value if isinstance(value, str) else ""


def score_of(value: Any) -> float | None:
    """Give a finite number as a float; None for anything else. A JSON boolean is no number."""
    if type(value) not in (int, float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
