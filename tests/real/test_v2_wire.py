"""`/v2/search` on the wire of the shipped gunicorn, as Firecrawl's clients speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.real.conftest import Running
from tests.vendors import NAMES, hit, reply, searxng_body, tavily_body

ITEM = ["url", "title", "description", "position"]


def post(running: Running, **body: Any) -> Any:
    """Search through v2, and give status and body."""
    answer = running.service.post("/v2/search", body, running.fleet)
    return answer.status, answer.json()


def test_answer_has_exactly_the_contracts_keys(running: Running, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: `data` is an object that holds `web` alone; the SDK's `origin` is ignored."""
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


def test_failures_are_told(running: Running, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: some failed: success with one warning string; all failed: an error that names them;
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


@pytest.mark.parametrize("extra", [*([name] for name in EXTRAS), list(EXTRAS)], ids=" ".join)
def test_other_fields_change_nothing(extra: list[str], running: Running) -> None:
    """contract: Firecrawl door: same result and same cache entry as without them, whatever they hold;
    no filter on v2.
    """
    plain = post(running, query="the same for all")
    running.vendors.seen.clear()
    assert post(running, query="the same for all", **{name: EXTRAS[name] for name in extra}) == plain
    assert running.vendors.seen == []
    assert plain[0] == 200


@pytest.mark.parametrize("content", [None, "", 5, "absent"])
def test_description_and_title_are_strings(content: Any, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: never null; without a text the title stands in, without a title the host."""
    row = {"url": "https://a.example/x", "title": content, "content": content}
    rows = [{"url": "https://a.example/x"}] if content == "absent" else [row]
    running.vendors.behaviour["searxng"] = reply({"results": rows})
    _, body = post(running, query=fresh())
    (item,) = [item for item in body["data"]["web"] if item["url"] == "https://a.example/x"]
    assert (item["title"], item["description"]) == ("a.example", "a.example")
