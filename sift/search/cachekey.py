"""The cache key: everything that can change an answer, in one canonical form (contract: Cache)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any

from sift.search.model import CallerClass, SearchRequest
from sift.search.query import normalise_query

NOT_IN_KEY = frozenset({"digest"})  # changes a warning on the request, not the answer


def hour_bucket(now: float) -> str:
    """Return the UTC hour of a Unix time, as `2006-01-02T15`."""
    return _hour(int(now // 3600))


@lru_cache(maxsize=2)
def _hour(number: int) -> str:
    return datetime.fromtimestamp(number * 3600, UTC).isoformat()[:13]


@lru_cache(maxsize=1024)  # agents repeat requests
def cache_key(request: SearchRequest, sources: tuple[str, ...], caller_class: CallerClass, hour: str) -> bytes:
    """Return the SHA-256 of the payload, 32 bytes."""
    canonical = _encoder.encode(payload(request, sources, caller_class, hour))
    return hashlib.sha256(canonical.encode()).digest()


_encoder = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def payload(request: SearchRequest, sources: tuple[str, ...], caller_class: CallerClass, hour: str) -> dict[str, Any]:
    """Return what the key holds. It derives from the records' own fields: a new one is in the key unless excluded."""
    form: dict[str, Any] = {"caller_class": caller_class, "hour": hour, "sources": sorted(sources)}
    for each in fields(request):
        if each.name not in NOT_IN_KEY and each.name != "filter":
            form[each.name] = getattr(request, each.name)
    form["queries"] = [normalise_query(query) for query in request.queries]
    for each in fields(request.filter):
        value = getattr(request.filter, each.name)
        if value is not None:
            form[each.name] = value
    if not request.filter.include_domains:
        del form["include_domains_mode"]
    if not request.explain:
        del form["explain"]
    form["min_score"] = _fixed(request.filter.min_score)
    return form


def _fixed(number: float) -> str:
    """Return the shortest decimal form that reads back as the same double; no exponent, integers without a point."""
    text = format(Decimal(repr(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
