"""SearXNG's format: title matches first; `site:` and quoted phrases are honoured in the query text."""

from __future__ import annotations

import re
from urllib.parse import urlparse

from sift.demo.index import Index, Page
from sift.demo.query import Query, excerpt, parse_query
from sift.demo.standin import Request, StandIn

PAGE_SIZE = 20
EXCERPT_SIZE = 300
ENGINE = "sift demo"

# `categories` and `engines` are absent: SearXNG ignores unknown names and asks its default engines.
_PARAMETERS = {
    "language": r"(all|auto|[a-z]{2,3}(-[A-Za-z]{2,4})?)?",
    "pageno": r"[1-9][0-9]{0,3}",
    "safesearch": r"[012]?",
    "time_range": r"(day|week|month|year)?",
}


def answer(index: Index, request: Request) -> tuple[int, object]:
    """Answer a search."""
    parameters = request.parameters
    if parameters.get("format") != "json":
        return 403, "<!doctype html><title>403</title><h1>Only the JSON format is switched on here</h1>"
    for name, pattern in _PARAMETERS.items():
        if name in parameters and not re.fullmatch(pattern, parameters[name]):
            return 400, {"error": f"{name} has no such value"}
    text = parameters.get("q", "")
    if not text:
        return 400, {"error": "q is missing"}
    query = parse_query(text, phrases=True, sites=True)
    pages = index.search(query, title_weight=10.0)
    if query.sites:
        pages = [page for page in pages if any(site.covers(page.best.url) for site in query.sites)]
    # SearXNG leaves out every engine that cannot search by date and answers with what remains. No document here has
    # a date, so with a time range nothing remains, and the vendor would send an empty list.
    if parameters.get("time_range"):
        pages = []
    skipped = (int(parameters.get("pageno", "1")) - 1) * PAGE_SIZE
    shown = pages[skipped : skipped + PAGE_SIZE]
    return 200, {
        "query": text,
        "results": [_row(page, query, rank) for rank, page in enumerate(shown, skipped + 1)],
        "answers": [],
        "corrections": [],
        "infoboxes": [],
        "suggestions": [],
        "unresponsive_engines": [],
    }


STAND_IN = StandIn("GET", "/search", answer)


def _row(page: Page, query: Query, rank: int) -> dict[str, object]:
    return {
        "url": page.best.url,
        "title": page.best.title,
        "content": excerpt(page.best.text, query, EXCERPT_SIZE),
        "publishedDate": None,
        "thumbnail": "",
        "engine": ENGINE,
        "template": "default.html",
        "parsed_url": list(urlparse(page.best.url)),
        "img_src": "",
        "priority": "",
        "engines": [ENGINE],
        "positions": [rank],
        "score": 1 / rank,
        "category": "general",
    }
