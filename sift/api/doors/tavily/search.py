"""`POST /tavily/search` as Tavily's clients call it (contract: Tavily door)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

from flask import Response, g
from flask import request as http_request

from sift.api.body import parse_object, read_body
from sift.api.doors.tavily import fields
from sift.api.errors import json_response, unavailable
from sift.api.search import run_search
from sift.api.services import Services, services
from sift.errors import InvalidSearchError, SearchUnavailableError
from sift.search.fields import FIELDS
from sift.search.merge import best_score
from sift.search.model import CAPPED, Answer, SearchRequest
from sift.search.schema import load_search

DEFAULT_RESULTS = 5
MAX_RESULTS = 20
MAX_DAYS = 36_500
SPENT = 432
"""Tavily's status for a plan that is used up; clients do not repeat the request."""
_FILTERS = tuple(field.name for field in FIELDS if field.group == "filter")
_KNOWN = ("query", *_FILTERS, "max_results", "days", "include_published_date")
_QUOTAS = (f": {CAPPED}", ": monthly quota")


class Reading(NamedTuple):
    """A body as read: the request, how many hits are wanted (0 to 20), and the warnings on the request itself."""

    request: SearchRequest
    results: int
    warnings: tuple[str, ...]


def search() -> Response:
    """Search all sources."""
    began = time.monotonic()
    reading = read(parse_object(read_body(http_request.environ)), datetime.now(UTC).date())
    parts = services()
    warnings = reading.warnings + parts.notices
    results: list[dict[str, Any]] = []
    if reading.results:
        try:
            answer = run_search(parts, g.caller, reading.request, warnings)
        except SearchUnavailableError as error:
            return unavailable(error, SPENT if is_spent(error, len(warnings)) else 503)
        warnings = answer.result.warnings + answer.result.skips + warnings
        results = shown(answer.result.hits(), _best(parts, answer))
    return json_response(
        {
            "query": reading.request.queries[0],
            "follow_up_questions": None,
            "answer": None,
            "images": [],
            "results": results,
            "response_time": round(time.monotonic() - began, 2),
            "request_id": str(uuid.uuid4()),
            "warnings": warnings,
        }
    )


def read(payload: Mapping[str, Any], today: date) -> Reading:
    """Return what a body asks for. Raises InvalidQueryError, or InvalidSearchError naming Tavily's field.

    today: the UTC date, from which `days` are counted.
    """
    request = load_search({name: payload[name] for name in ("query", *_FILTERS) if name in payload})
    count = _whole(payload, "max_results", 0, MAX_RESULTS)
    days = _whole(payload, "days", 1, MAX_DAYS)
    warnings = fields.warnings(payload, _KNOWN, fields.SEARCH)
    filters = request.filter
    if days is not None:
        if filters.topic == "news" and filters.time_range is None and not filters.dated:
            filters = replace(filters, start_date=(today - timedelta(days)).isoformat())
        else:
            warnings = ("days ignored", *warnings)
    count = DEFAULT_RESULTS if count is None else count
    return Reading(replace(request, k=max(count, 1), filter=filters), count, warnings)


def shown(hits: Iterable[Mapping[str, Any]], best: float) -> list[dict[str, Any]]:
    """Return hits in Tavily's form. best: the score that becomes 1."""
    return [
        {
            "title": hit["title"],
            "url": hit["url"],
            "content": hit["snippet"],
            "score": max(0.0, min(1.0, hit["score"] / best)),
            "raw_content": None,
            **({"published_date": hit["published_date"]} if "published_date" in hit else {}),
        }
        for hit in hits
    ]


def is_spent(error: SearchUnavailableError, own: int) -> bool:
    """Whether all sources are skipped because a budget is used up. own: how many warnings are on the request itself."""
    skips = error.warnings[: len(error.warnings) - own]
    return bool(skips) and all(skip.endswith(_QUOTAS) for skip in skips)


def _best(parts: Services, answer: Answer) -> float:
    """Return the score of a page that is first in every list of an answer's sum; 1 when no list was in it."""
    return best_score(len(parts.engine.in_sum.intersection(answer.result.sources_ok))) or 1.0


def _whole(payload: Mapping[str, Any], name: str, low: int, high: int) -> int | None:
    """Return a whole number, None if the field is left out. Raises InvalidSearchError."""
    value = payload.get(name)
    if value is None or (type(value) is int and low <= value <= high):
        return value
    raise InvalidSearchError(name)
