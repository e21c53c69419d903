"""`/v2/search` of the shipped gunicorn, as Firecrawl's clients see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.real.conftest import Running
from tests.vendors import NAMES, hit, reply, searxng_body, tavily_body

ITEM = ["url", "title", "description", "position"]


def post(running: Running, **body: Any) -> Any:
    """Search through v2; return status and body."""
    answer = running.service.post("/v2/search", body, running.fleet)
    return answer.status, answer.json()


def test_answer_has_exactly_the_contracts_keys(running: Running, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: `data` holds `web` alone; the SDK's `origin` is ignored."""
    status, body = post(running, query=fresh(), limit=2, origin="python-sdk@4.17.0")
    assert (status, list(body), list(body["data"])) == (200, ["success", "data"], ["web"])
    assert body["success"] is True
    assert [list(item) for item in body["data"]["web"]] == [ITEM, ITEM]
    assert [item["position"] for item in body["data"]["web"]] == [1, 2]


def test_nothing_of_a_vendor_leaks(running: Running, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: no markdown, score, source or published_date, whatever the vendors send."""
    rows = [hit("https://dated.example/", date="Tue, 01 Sep 2026 08:00:00 GMT")]
    running.vendors.behaviour["searxng"] = reply(searxng_body(rows))
    running.vendors.behaviour["tavily"] = reply(tavily_body(rows, markdown="x"))
    _, body = post(running, query=fresh())
    assert all(list(item) == ITEM for item in body["data"]["web"])


def test_failures_are_reported(running: Running, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: a partial failure is a success with a warning, a complete one an error that names each;
    neither is cached.
    """
    query = fresh()
    running.vendors.behaviour["tavily"] = reply(b"", 500)
    assert post(running, query=query)[1]["warning"] == "tavily: http 500"
    for name in NAMES:
        running.vendors.behaviour[name] = reply(b"", 500)
    for _ in range(2):
        assert post(running, query=query) == (
            503,
            {
                "success": False,
                "error": "search unavailable",
                "details": "; ".join(f"{name}: http 500" for name in NAMES),
            },
        )
    running.vendors.restore()
    status, body = post(running, query=query)
    assert (status, "warning" in body, len(running.vendors.seen)) == (200, False, len(NAMES))


@pytest.mark.parametrize("path", ["crawl", "batch/crawl", "search/", "scrape/", ""])
def test_unknown_endpoint_says_what_exists(path: str, running: Running) -> None:
    """contract: Firecrawl door: every other path, with any method, in v2's form."""
    body = {
        "success": False,
        "error": "sift: no such endpoint; there are POST /v2/search and, unless it is switched off, POST /v2/scrape "
        "and /v2/batch/scrape",
        "details": "this service searches and opens pages; it does not crawl, map or extract",
    }
    answer = running.service.post(f"/v2/{path}", {"url": "https://a.example/"}, running.fleet)
    assert (answer.status, answer.json()) == (404, body)
    answer = running.service.get(f"/v2/{path}", running.fleet)
    assert (answer.status, answer.json()) == (404, body)


EXTRAS: dict[str, Any] = {
    "sources": [{"type": "web"}],
    "categories": ["github"],
    "tbs": "qdr:w",
    "location": "Germany",
    "country": "DE",
    "timeout": 15,
    "ignoreInvalidURLs": True,
    "scrapeOptions": {"formats": ["markdown"]},
    "integration": "x",
    "include_domains": "not a list",
    "exclude_domains": [5],
    "time_range": 7,
    "topic": "news",
    "min_score": 0.9,
    "exact_match": True,
    "k": 0,
    "queries": ["other"],
}


def test_other_fields_change_nothing(running: Running, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: the same answer and cache entry as without them, whatever they hold."""
    query = fresh()
    bare = post(running, query=query)
    running.vendors.seen.clear()
    assert post(running, query=query, **EXTRAS) == bare
    assert running.vendors.seen == []
    assert bare[0] == 200


def test_description_and_title_are_strings(running: Running, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: never null; the title stands in for a missing text, the host for a missing title."""
    rows: list[dict[str, Any]] = [{"title": each, "content": each} for each in (None, "", 5)]
    rows = [row | {"url": f"https://a.example/{at}"} for at, row in enumerate([*rows, {}])]
    running.vendors.behaviour["searxng"] = reply({"results": rows})
    _, body = post(running, query=fresh())
    items = [item for item in body["data"]["web"] if item["url"].startswith("https://a.example/")]
    assert [(item["title"], item["description"]) for item in items] == [("a.example", "a.example")] * 4
