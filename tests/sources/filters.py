"""Combinations of filters that a valid request can hold."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from typing import Any

from sift.errors import InvalidSearchError
from sift.search.model import Filter
from sift.search.schema import load_search

QUERY = 'find "this phrase" now'

_CHOICES: dict[str, tuple[Any, ...]] = {
    "include_domains": (None, ["Docs.example."], ["gov"], ["b.example", "edu", "a.example", "c.example", "d.example"]),
    "include_domains_mode": (None, "prefer"),
    "exclude_domains": (None, ["cn"], ["cn", "z.example"]),
    "time_range": (None, "d", "month"),
    "start_date": (None, "2026-09-01"),
    "end_date": (None, "2026-09-29"),
    "topic": (None, "news", "finance"),
    "exact_match": (None, True),
    "min_score": (None, 0.5),
}


def _valid() -> tuple[Filter, ...]:
    filters = {}
    for values in product(*_CHOICES.values()):
        fields = {name: value for name, value in zip(_CHOICES, values, strict=True) if value is not None}
        with suppress(InvalidSearchError):
            filters[load_search({"query": QUERY, **fields}).filter] = None
    return tuple(filters)


FILTERS = _valid()
"""Filters as the engine passes them to a source, each once, `Filter()` included."""
