"""A real metasearch engine as Sift's source: Debian's searx, whose only engine asks the bundled demo documents."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from sift import demo
from tests.real.programs import SEARX_EXAMPLES, Searx
from tests.service import Service
from tests.waiting import wait_for

pytestmark = pytest.mark.skipif(
    not (shutil.which("searx-run") and SEARX_EXAMPLES.is_dir()), reason="searx is not installed (Debian: searx)"
)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Run Sift with searx as its only source."""
    path = tmp_path_factory.mktemp("searx")
    with (
        Searx(path, demo.start("searxng")) as searx,
        Service(path, {"SIFT_SEARXNG_URL": searx.url, "SIFT_BREAKER_FAILURES": "0"}) as running,
    ):
        yield running


def test_search_gives_hits(service: Service) -> None:
    """contract: SearXNG: the JSON of a real instance is read: addresses, titles, text,
    and no date where it knows none.
    """
    answer = service.search("context manager", k=5)
    assert (answer["sources_ok"], answer["warnings"]) == (["searxng"], [])
    assert len(answer["results"]) == 5
    first = answer["results"][0]
    assert first["url"].startswith("https://docs.python.org/3/")
    assert "context manager" in first["title"].lower()
    assert first["snippet"]
    assert "published_date" not in first


def test_every_filter_it_knows_is_accepted(service: Service) -> None:
    """contract: SearXNG: `time_range`, `categories` and `site:` are parameters and words a real instance takes."""
    answer = service.search("context manager", time_range="month", topic="news")
    assert (answer["sources_ok"], answer["warnings"]) == (["searxng"], [])
    domains = service.search("context manager", include_domains=["docs.python.org"])
    assert domains["sources_ok"] == ["searxng"]
    assert domains["results"]
    assert all(hit["url"].startswith("https://docs.python.org/") for hit in domains["results"])


def test_query_with_an_external_bang_redirect_refused(service: Service) -> None:
    """contract: SearXNG: a real instance answers `!!` with a redirect elsewhere; Sift stays here, and says why."""
    reply = service.post("/v1/search", {"query": "!!g words"})
    assert reply.status == 503
    assert reply.json()["warnings"] == ["searxng: redirect refused", "searxng: query holds search syntax"]


def test_query_of_many_characters_arrives(service: Service) -> None:
    """contract: Queries: 1500 characters of three bytes each are one URL of 13.5 kB,
    which the instance itself takes.
    """
    assert service.search("検" * 1500)["sources_ok"] == ["searxng"]


def test_engines_that_a_filter_leaves_out_are_noted(tmp_path_factory: pytest.TempPathFactory) -> None:
    """contract: Recall: a real instance tells which engines it has; those without dates or news are counted."""
    path = tmp_path_factory.mktemp("less")
    with (
        Searx(path, demo.start("searxng"), undated=True) as searx,
        Service(path, {"SIFT_SEARXNG_URL": searx.url, "SIFT_CACHE_TTL": "0"}) as running,
    ):
        wait_for(lambda: running.search("context manager", time_range="month")["warnings"] != [])
        both = running.search("context manager", time_range="month", topic="news")
        plain = running.search("context manager")
    assert both["warnings"] == [
        "searxng: time_range searched 1 of 2 engines",
        "searxng: topic=news searched 1 of 2 engines",
    ]
    assert plain["warnings"] == []


def test_engine_that_does_not_answer_is_no_empty_list(tmp_path_factory: pytest.TempPathFactory) -> None:
    """contract: SearXNG: a real instance names its silent engine beside an empty list; Sift calls that a failure."""
    path = tmp_path_factory.mktemp("silent")
    with (
        Searx(path, "http://127.0.0.1:1") as searx,
        Service(path, {"SIFT_SEARXNG_URL": searx.url}) as running,
    ):
        reply = running.post("/v1/search", {"query": "x"})
    assert (reply.status, reply.json()["warnings"]) == (503, ["searxng: no engine answered"])
