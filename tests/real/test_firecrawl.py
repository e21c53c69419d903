"""Firecrawl's own SDK against `/v2/search`, in the version that Hermes pins and the newest."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.clients import Client, installed
from tests.real.conftest import Running
from tests.service import Service
from tests.vendors import BODIES, NAMES, hit, reply, searxng_body

PINNED = "4.17.0"
PAGE = "https://docs.python.org/3/reference/compound_stmts.html"
DRIVER = Path(__file__).with_name("firecrawl_driver.py")


class Sdk(Client):
    """A process that calls one version of the SDK."""

    def search(self, url: str, key: str | None, **arguments: Any) -> dict[str, Any]:
        """Search; return the items found, or the error's class and text."""
        return self.do("search", url, key, arguments)

    def do(self, method: str, url: str, key: str | None, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a method of the SDK; return what `search` returns."""
        return self.call(method=method, url=url, key=key, arguments=arguments)


@pytest.fixture(scope="module", params=[PINNED, "newest"])
def sdk(request: pytest.FixtureRequest) -> Iterator[Sdk]:
    """Run each version in turn; the newest comes with the `test` extra."""
    if request.param == "newest":
        try:
            importlib.metadata.version("firecrawl-py")
        except importlib.metadata.PackageNotFoundError:
            pytest.skip("firecrawl-py is not installed")
        found = Sdk(DRIVER)
    else:
        found = Sdk(DRIVER, installed("firecrawl-py", request.param))
        assert found.version == request.param
    yield found
    found.close()


@pytest.fixture
def search(sdk: Sdk, running: Running) -> Callable[..., dict[str, Any]]:
    """Return a function that searches the shared service with this SDK."""

    def ask(key: str | None = running.tokens.restricted, **arguments: Any) -> dict[str, Any]:
        return sdk.search(running.service.url, key, **arguments)

    return ask


Search = Callable[..., dict[str, Any]]


def test_search_finds_hits(search: Search, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: the SDK sees web results with URL, title and description."""
    found = search(query=fresh(), limit=2)
    assert found["kinds"] == ["SearchResultWeb"]
    assert [item["url"] for item in found["web"]] == ["https://shared.example/page", "https://searxng.example/page"]
    assert [item["title"] for item in found["web"]] == ["Shared", "From searxng"]
    assert all(item["description"] == "Text." for item in found["web"])


def test_search_as_hermes_does(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: Hermes sends query and limit; the default limit is 10, and at most 50 hits come."""
    hits = [hit(f"https://h{number}.example/", f"H{number}") for number in range(60)]
    running.vendors.behaviour["searxng"] = reply(searxng_body(hits))
    query = fresh()
    lengths = [len(search(query=query, **more)["web"]) for more in ({"limit": 10}, {}, {"limit": 20}, {"limit": 100})]
    assert lengths == [10, 10, 20, 50]


def test_hits_stay_web_results_whatever_a_source_says(
    search: Search, running: Running, fresh: Callable[[], str]
) -> None:
    """contract: Firecrawl door: no key turns a hit into a document, and none is null."""
    row = {"url": "https://a.example/", "title": "A", "content": None, "markdown": "x", "metadata": {}, "html": None}
    bare = {"url": "https://b.example/x", "title": None}
    running.vendors.behaviour["searxng"] = reply({"results": [row, bare, {"url": None}, None, 5]})
    found = search(query=fresh())
    items = {item["url"]: item for item in found["web"]}
    assert found["kinds"] == ["SearchResultWeb"]
    assert items["https://a.example/"]["description"] == "A"
    assert (items["https://b.example/x"]["title"], items["https://b.example/x"]["description"]) == ("b.example",) * 2


def test_options_of_the_sdk_are_ignored(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: the options of the SDK change nothing, not even the cache entry."""
    query = fresh()
    bare = search(query=query)
    asked = len(running.vendors.seen)
    options = {"sources": ["web", "news"], "categories": ["github"], "tbs": "qdr:d", "location": "Berlin"}
    assert search(query=query, timeout=15, ignore_invalid_urls=True, **options) == bare
    assert len(running.vendors.seen) == asked == len(NAMES)


def test_no_hits_empty_list(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: nothing found is a success with an empty list."""
    for name in NAMES:
        running.vendors.behaviour[name] = reply(BODIES[name]([]))
    assert search(query=fresh())["web"] == []


def test_all_sources_failed_error_that_names_them(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Unavailable: never an empty success; the SDK asks once, because it does not retry a 503."""
    for name in NAMES:
        running.vendors.behaviour[name] = reply(b"", 500)
    found = search(query=fresh())
    assert found["error"] == "FirecrawlError"
    assert "503" in found["message"]
    assert f"search unavailable - {'; '.join(f'{name}: http 500' for name in NAMES)}" in found["message"]
    assert len(running.vendors.seen) == len(NAMES)


def test_one_source_failed_success(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: every version accepts a warning beside hits."""
    running.vendors.behaviour["brave_llm"] = reply(b"", 500)
    found = search(query=fresh())
    names = {"shared", *NAMES} - {"brave_llm"}
    assert {item["url"] for item in found["web"]} == {f"https://{name}.example/page" for name in names}


@pytest.mark.parametrize("key", ["fc-unknown", None], ids=["foreign", "none"])
def test_wrong_key_error_that_names_sift(key: str | None, search: Search, fresh: Callable[[], str]) -> None:
    """contract: Firecrawl door: the client learns that it is Sift that refused."""
    found = search(key, query=fresh())
    assert found["error"] == "UnauthorizedError"
    assert "sift: missing or invalid API key" in found["message"]


def test_bad_query_error_with_its_reason(search: Search) -> None:
    """contract: Firecrawl door: the message says what is wrong with the query."""
    found = search(query="x" * 1501)
    assert found["error"] == "BadRequestError"
    assert "invalid query - query must be a non-empty string of at most 1500 characters" in found["message"]


def test_call_that_sift_does_not_have_error_that_names_what_exists(sdk: Sdk, running: Running) -> None:
    """contract: Firecrawl door: who asks for more than there is reads that this is Sift, and what it has."""
    found = sdk.do("map", running.service.url, running.tokens.restricted, {"url": "https://a.example/"})
    assert "sift: no such endpoint; there are POST /v2/search and" in found["message"]


def test_scrape_gives_the_page_as_hermes_asks_for_it(sdk: Sdk, tmp_path: Path) -> None:
    """contract: Scrape: Hermes' `web_extract` asks for markdown and html; a demo page needs no network."""
    asked = {"url": PAGE, "formats": ["markdown", "html"], "wait_for": 3000}
    with Service(tmp_path, {"SIFT_DEMO": "on"}) as service:
        found = sdk.do("scrape", service.url, "any", asked)["document"]
        refused = sdk.do("scrape", service.url, "any", {"url": "http://169.254.169.254/latest/meta-data/"})
    assert "async def" in found["markdown"]
    assert "<h1>Coroutines</h1>" in found["html"]
    assert (found["metadata"]["source_url"], found["metadata"]["status_code"]) == (PAGE, 200)
    assert (refused["error"], "url not allowed - address" in refused["message"]) == ("BadRequestError", True)


def test_query_that_the_sdk_lets_through_refused(search: Search) -> None:
    """contract: Queries: a query with NUL is refused, which the SDK sends."""
    assert search(query="\x00")["error"] == "BadRequestError"


@pytest.mark.parametrize("path", ["/sift", "/v2"])
def test_base_url_with_a_path(path: str, sdk: Sdk, running: Running, fresh: Callable[[], str]) -> None:
    """The SDK drops the path of its base URL, so Sift must be at the root of its origin."""
    assert sdk.search(running.service.url + path, running.tokens.fleet, query=fresh())["web"]
