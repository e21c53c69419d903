"""Firecrawl's own SDK against `/v2/search`: the version Hermes pins, and the newest."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real.conftest import Running
from tests.service import ROOT
from tests.vendors import NAMES, hit, reply, searxng_body

PINNED = "4.17.0"
DRIVER = Path(__file__).with_name("firecrawl_driver.py")


class Sdk:
    """Hold a process that searches with one version of the SDK."""

    def __init__(self, path: Path | None) -> None:
        environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        if path:
            environ["PYTHONPATH"] = str(path)
        self.process = subprocess.Popen(
            [sys.executable, str(DRIVER)], env=environ, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.version = self._read()["version"]

    def search(self, url: str, key: str | None, **arguments: Any) -> dict[str, Any]:
        """Search, and give the items found or the error's class and text."""
        assert self.process.stdin
        print(json.dumps({"url": url, "key": key, "arguments": arguments}), file=self.process.stdin, flush=True)
        return self._read()

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found


def installed(version: str) -> Path:
    """Return a directory that holds this version, installed there once for all runs of one Python."""
    path = ROOT / f".venv-firecrawl-{version}-{sys.implementation.cache_tag}"
    done = path / "installed"
    if not done.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--upgrade", "--target", str(path), f"firecrawl-py=={version}"]
        tried = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        if tried.returncode:
            pytest.skip(f"firecrawl-py {version} cannot be installed: {tried.stderr.strip().splitlines()[-1]}")
        done.touch()
    return path


@pytest.fixture(scope="module", params=[PINNED, "newest"])
def sdk(request: pytest.FixtureRequest) -> Iterator[Sdk]:
    """Give each version in turn; the newest comes with the `test` extra."""
    if request.param == "newest":
        try:
            importlib.metadata.version("firecrawl-py")
        except importlib.metadata.PackageNotFoundError:
            pytest.skip("firecrawl-py is not installed")
        found = Sdk(None)
    else:
        found = Sdk(installed(request.param))
        assert found.version == request.param
    yield found
    found.close()


@pytest.fixture
def search(sdk: Sdk, running: Running) -> Callable[..., dict[str, Any]]:
    """Give a search with this SDK on the shared service."""

    def ask(key: str | None = running.tokens.restricted, **arguments: Any) -> dict[str, Any]:
        return sdk.search(running.service.url, key, **arguments)

    return ask


Search = Callable[..., dict[str, Any]]


def test_search_finds_hits(search: Search, fresh: Callable[[], str]) -> None:
    """B192: `data.web`, as web results with address, title and description."""
    found = search(query=fresh(), limit=2)
    assert found["kinds"] == ["SearchResultWeb"]
    assert [item["url"] for item in found["web"]] == ["https://shared.example/page", "https://searxng.example/page"]
    assert [item["title"] for item in found["web"]] == ["Shared", "From searxng"]
    assert all(item["description"] == "Text." for item in found["web"])


def test_search_as_hermes_does(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """Contract §9: its call, through the SDK: query and a limit rounded up; without a limit the default is 10."""
    hits = [hit(f"https://h{number}.example/", f"H{number}") for number in range(60)]
    running.vendors.behaviour["searxng"] = reply(searxng_body(hits))
    query = fresh()
    lengths = [len(search(query=query, **more)["web"]) for more in ({"limit": 10}, {}, {"limit": 20}, {"limit": 100})]
    assert lengths == [10, 10, 20, 50]


def test_hits_stay_web_results_whatever_a_source_says(
    search: Search, running: Running, fresh: Callable[[], str]
) -> None:
    """B193, B198: no key of a hit turns it into a document, or is null; a missing text is the title."""
    row = {"url": "https://a.example/", "title": "A", "content": None, "markdown": "x", "metadata": {}, "html": None}
    bare = {"url": "https://b.example/x", "title": None}
    running.vendors.behaviour["searxng"] = reply({"results": [row, bare, {"url": None}, None, 5]})
    found = search(query=fresh())
    items = {item["url"]: item for item in found["web"]}
    assert found["kinds"] == ["SearchResultWeb"]
    assert items["https://a.example/"]["description"] == "A"
    assert (items["https://b.example/x"]["title"], items["https://b.example/x"]["description"]) == ("b.example",) * 2


def test_options_of_the_sdk_are_ignored(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """B197: what it sends with options set changes nothing, not even the cache entry."""
    query = fresh()
    plain = search(query=query)
    asked = len(running.vendors.seen)
    options = {"sources": ["web", "news"], "categories": ["github"], "tbs": "qdr:d", "location": "Berlin"}
    assert search(query=query, timeout=15, ignore_invalid_urls=True, **options) == plain
    assert len(running.vendors.seen) == asked == 3


def test_no_hits_empty_list(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """Contract §9: nothing found is a success with a list that can be gone through."""
    for name in NAMES:
        running.vendors.behaviour[name] = reply({"results": [], "grounding": {"generic": []}})
    assert search(query=fresh())["web"] == []


def test_all_sources_failed_error_that_names_them(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """B196: never an empty success; the SDK asks once, since a 503 is none that it repeats."""
    for name in NAMES:
        running.vendors.behaviour[name] = reply(b"", 500)
    found = search(query=fresh())
    assert found["error"] == "FirecrawlError"
    assert "503" in found["message"]
    assert "search unavailable - searxng: http 500; brave_llm: http 500; tavily: http 500" in found["message"]
    assert len(running.vendors.seen) == 3


def test_one_source_failed_success(search: Search, running: Running, fresh: Callable[[], str]) -> None:
    """Contract §9: a warning beside hits parses in every version."""
    running.vendors.behaviour["brave_llm"] = reply(b"", 500)
    found = search(query=fresh())
    assert {item["url"] for item in found["web"]} == {
        f"https://{name}.example/page" for name in ("shared", "searxng", "tavily")
    }


@pytest.mark.parametrize("key", ["fc-unknown", "sift_abcdefgh_" + "A" * 43, None], ids=["foreign", "unknown", "none"])
def test_wrong_key_error_that_names_sift(key: str | None, search: Search, fresh: Callable[[], str]) -> None:
    """Contract §3: the client learns who refused it."""
    found = search(key, query=fresh())
    assert found["error"] == "UnauthorizedError"
    assert "sift: missing or invalid API key" in found["message"]


def test_bad_query_error_with_its_reason(search: Search) -> None:
    """Contract §9: the text a model gets to read says what was wrong."""
    found = search(query="x" * 1501)
    assert found["error"] == "BadRequestError"
    assert "invalid query - query must be a non-empty string of at most 1500 characters" in found["message"]


def test_blank_that_the_sdk_lets_through_refused(search: Search) -> None:
    """B077: what only looks like a query to the SDK is none."""
    assert search(query="\x00")["error"] == "BadRequestError"


@pytest.mark.parametrize("path", ["/sift", "/v2", "/"])
def test_base_url_with_a_path(path: str, sdk: Sdk, running: Running, fresh: Callable[[], str]) -> None:
    """README, Hermes: this SDK drops a path of the base URL, so Sift must be at the root of its origin."""
    assert sdk.search(running.service.url + path, running.tokens.fleet, query=fresh())["web"]
