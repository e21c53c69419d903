"""Tavily's format: adjacent words first; domains, exact match and the number of results are honoured."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Mapping
from datetime import date
from typing import Any

from sift.demo.index import Index, Page
from sift.demo.query import Query, Site, excerpt, parse_query
from sift.demo.standin import Request, StandIn

MAX_QUERY = 400
CHUNKS = 3
CHUNK_SIZE = 500
HALF_SCORE = 6.0  # the bm25 value that maps to a score of 0.5
SCATTERED = 0.6  # factor for a page whose best passage has the words, but not adjacent

_TYPES: dict[str, type[Any]] = {
    "query": str,
    "max_results": int,
    "topic": str,
    "time_range": str,
    "start_date": str,
    "end_date": str,
    "include_domains": list,
    "exclude_domains": list,
    "include_domains_mode": str,
    "exact_match": bool,
    "include_published_date": bool,
    "include_usage": bool,
}
_VALUES = {
    "topic": ("general", "news", "finance"),
    "time_range": ("day", "week", "month", "year", "d", "w", "m", "y"),
    "include_domains_mode": ("restrict", "prefer"),
}
_DOMAIN_LIMITS = {"include_domains": 300, "exclude_domains": 150}


def answer(index: Index, request: Request) -> tuple[int, object]:
    """Answer a search."""
    started = time.perf_counter()
    if re.fullmatch(r"(?i)bearer +\S+", request.headers.get("authorization", "")) is None:
        return 401, {"detail": {"error": "missing API key"}}
    asked = _load(request.body)
    if isinstance(asked, list):
        return 422, {"detail": [{"type": "wrong_type", "loc": asked, "msg": "wrong type"}]}
    refusal = _refusal(asked)
    if refusal:
        return 400, {"detail": {"error": refusal}}
    query = parse_query(asked["query"], phrases=asked.get("exact_match", False))
    pages = _restrict(_search(index, query), asked)[: asked.get("max_results", 10)]
    # Dates and time ranges have no effect: Tavily drops undated hits only on a field that Sift does not send.
    dated = asked.get("include_published_date") or asked.get("topic") == "news"
    extras: dict[str, object] = {"published_date": None} if dated else {}
    answered: dict[str, object] = {
        "query": asked["query"],
        "follow_up_questions": None,
        "answer": None,
        "images": [],
        "results": [_row(page, query) | extras for page in pages],
        "response_time": round(time.perf_counter() - started, 4),
        "request_id": str(uuid.uuid4()),
    }
    return 200, answered | ({"usage": {"credits": 1}} if asked.get("include_usage") else {})


STAND_IN = StandIn("POST", "/tavily/search", answer)


def _load(body: bytes) -> dict[str, Any] | list[str]:
    """Return the body without its nulls, or the location of a wrong type."""
    try:
        loaded = json.loads(body)
    except (ValueError, RecursionError):
        return ["body"]
    if not isinstance(loaded, dict):
        return ["body"]
    request = {name: value for name, value in loaded.items() if value is not None}
    for name, kind in _TYPES.items():
        value = request.get(name, kind())
        if type(value) is not kind or (kind is list and not all(isinstance(entry, str) for entry in value)):
            return ["body", name]
    return request if "query" in request else ["body", "query"]


def _refusal(request: Mapping[str, Any]) -> str:
    """Return which of the vendor's rules a well-typed request breaks, or an empty string."""
    if not request["query"].strip() or len(request["query"]) > MAX_QUERY:
        return "query must have 1 to 400 characters"
    if not 0 <= request.get("max_results", 0) <= 20:
        return "max_results must be 0 to 20"
    for name, allowed in _VALUES.items():
        if name in request and request[name] not in allowed:
            return f"{name} has no such value"
    for name, limit in _DOMAIN_LIMITS.items():
        if len(request.get(name, [])) > limit:
            return f"{name} is too long"
    if request.get("include_domains") and not any("." in domain for domain in request["include_domains"]):
        return "include_domains has no usable domain"
    if "include_domains_mode" in request and not request.get("include_domains"):
        return "include_domains_mode needs include_domains"
    return _date_refusal([request[name] for name in ("start_date", "end_date") if name in request], request)


def _date_refusal(dates: list[str], request: Mapping[str, Any]) -> str:
    if dates and "time_range" in request:
        return "time_range and dates exclude each other"
    try:
        days = [date.fromisoformat(text) for text in dates]
    except ValueError:
        return "a date is not YYYY-MM-DD"
    if any(len(text) != 10 for text in dates) or days != sorted(days):
        return "a date is not YYYY-MM-DD, or start_date is after end_date"
    return ""


def _search(index: Index, query: Query) -> list[Page]:
    """Rank pages by how close the words are, with scores mapped to the range 0 to 1."""
    pages = []
    for page in index.search(query, title_weight=3.0):
        together = any(query.position(text)[1] for text in (page.best.title, page.best.text))
        score = page.score / (page.score + HALF_SCORE) * (1.0 if together else SCATTERED)
        pages.append(page._replace(score=score))
    return sorted(pages, key=lambda page: -page.score)


def _restrict(pages: list[Page], request: Mapping[str, Any]) -> list[Page]:
    """Apply the domain lists: `prefer` moves matching pages to the front, `restrict` drops all others."""
    included = [Site.parse(domain) for domain in request.get("include_domains", [])]
    excluded = [Site.parse(domain) for domain in request.get("exclude_domains", [])]
    pages = [page for page in pages if not any(site.covers(page.best.url) for site in excluded)]
    listed = [page for page in pages if any(site.covers(page.best.url) for site in included)]
    if not included:
        return pages
    if request.get("include_domains_mode") == "prefer":
        return listed + [page for page in pages if page not in listed]
    return listed


def _row(page: Page, query: Query) -> dict[str, object]:
    return {
        "url": page.best.url,
        "title": page.best.title,
        "content": " [...] ".join(excerpt(passage.text, query, CHUNK_SIZE) for passage in page.passages[:CHUNKS]),
        "score": round(page.score, 6),
        "raw_content": None,
    }
