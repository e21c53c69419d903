"""The three wire formats, and which filters each vendor honours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from sift.demo import searxng, tavily
from sift.demo.documents import Passage
from sift.demo.index import Index
from sift.demo.standin import Request

if TYPE_CHECKING:
    from conftest import Client


def test_searxng_answers_in_its_shape(demo: Client) -> None:
    """contract: Demo: SearXNG's top level and rows, undated."""
    status, answered = demo.searxng("context manager")
    assert status == 200
    assert answered["query"] == "context manager"
    lists = ("answers", "corrections", "infoboxes", "suggestions", "unresponsive_engines")
    assert all(answered[name] == [] for name in lists)
    for rank, row in enumerate(answered["results"], 1):
        assert row["url"].startswith("http")
        assert row["title"]
        assert row["content"]
        assert row["publishedDate"] is None
        assert row["engines"] == [row["engine"]]
        assert row["positions"] == [rank]
        assert len(row["parsed_url"]) == 6


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    """Return an index of pages on several hosts, all with the same words."""
    hosts = ("a.example", "www.b.example", "c.example")
    with closing(Index(Passage(f"https://{host}/", "Title", f"Same words. {host}") for host in hosts)) as made:
        yield made


@pytest.mark.parametrize(
    ("q", "hosts"),
    [
        ("site:a.example same words", ["a.example"]),
        ("(site:a.example OR site:b.example) same words", ["a.example", "www.b.example"]),
        ("site:a.example OR site:c.example same words", ["a.example", "c.example"]),
        ("same words site:nowhere.example", []),
    ],
)
def test_searxng_honours_site(index: Index, q: str, hosts: list[str]) -> None:
    """contract: Demo: `site:` in the query text restricts, one or several joined with OR."""
    answered: Any = searxng.answer(index, Request({}, {"q": q, "format": "json"}, b""))[1]
    assert sorted(row["parsed_url"][1] for row in answered["results"]) == hosts


def test_searxng_takes_quotes_as_a_phrase(demo: Client) -> None:
    """contract: Demo: quoted phrases work as phrases."""
    loose = demo.searxng("manager context")[1]["results"]
    assert loose
    assert demo.searxng('"manager context"')[1]["results"] == []


def test_searxng_drops_unknown_categories(demo: Client) -> None:
    """contract: Demo: unknown categories are dropped and the default ones asked."""
    plain = demo.searxng("dict")[1]["results"]
    assert demo.searxng("dict", categories="news,no such")[1]["results"] == plain
    assert plain


def test_searxng_time_range_leaves_no_engine(demo: Client) -> None:
    """contract: Demo: engines that cannot search by date are left out in silence; nothing here has a date."""
    status, answered = demo.searxng("dict", time_range="week")
    assert status == 200
    assert answered["results"] == answered["unresponsive_engines"] == []
    assert demo.searxng("dict", time_range="")[1]["results"]


def test_searxng_pages_do_not_repeat(demo: Client) -> None:
    """contract: Demo: `pageno` counts pages from 1."""
    first = demo.searxng("python")[1]["results"]
    second = demo.searxng("python", pageno="2")[1]["results"]
    assert not {row["url"] for row in first} & {row["url"] for row in second}
    assert demo.searxng("python", pageno="99")[1]["results"] == []


@pytest.mark.parametrize(
    "wrong", [{"time_range": "d"}, {"pageno": "0"}, {"pageno": "x"}, {"safesearch": "3"}, {"language": "!"}, {"q": ""}]
)
def test_searxng_refuses_bad_parameters(demo: Client, wrong: dict[str, str]) -> None:
    """contract: Demo: 400 with a JSON error."""
    status, answered = demo.searxng(**({"q": "dict"} | wrong))
    assert (status, list(answered)) == (400, ["error"])


def test_searxng_refuses_other_formats_in_html(demo: Client) -> None:
    """contract: Demo: a format that is not enabled is 403, and no JSON."""
    response, body = demo.send("GET", "/search?q=dict")
    assert (response.status, response.headers.get_content_type()) == (403, "text/html")
    assert body.startswith(b"<!doctype html>")


def test_brave_answers_in_its_shape(demo: Client) -> None:
    """contract: Demo: grounding and sources, several snippets a hit."""
    status, answered = demo.brave("context manager")
    assert status == 200
    rows = answered["grounding"]["generic"]
    assert len(rows[0]["snippets"]) > 1
    assert all(isinstance(snippet, str) and snippet for row in rows for snippet in row["snippets"])
    assert answered["grounding"]["map"] == []
    assert set(answered["sources"]) == {row["url"] for row in rows}
    source = {"title": rows[0]["title"], "hostname": "docs.python.org", "age": None}
    assert answered["sources"][rows[0]["url"]] == source


def test_brave_honours_no_filter(demo: Client) -> None:
    """contract: Demo: neither freshness nor quotes nor `site:` restrict Brave."""
    plain = demo.brave("manager context")[1]
    assert demo.brave('"manager context"')[1] == plain
    assert demo.brave("manager context", freshness="pd", goggles="$discard")[1] == plain
    assert demo.brave("manager site:nowhere.example")[1]["sources"]


@pytest.mark.parametrize(
    ("q", "headers", "kind", "place"),
    [
        ("dict", {}, "missing", ["header", "x-subscription-token"]),
        ("", {"x-subscription-token": "k"}, "string_too_short", ["query", "q"]),
        ("a" * 401, {"X-SUBSCRIPTION-TOKEN": "k"}, "string_too_long", ["query", "q"]),
        ("a " * 51, {"X-Subscription-Token": "k"}, "string_too_long", ["query", "q"]),
    ],
)
def test_brave_refuses_with_422(demo: Client, q: str, headers: dict[str, str], kind: str, place: list[str]) -> None:
    """contract: Demo: a missing key, an empty and a long query are all 422; the body tells them apart."""
    status, answered = demo.brave(q, headers)
    assert (status, answered["type"]) == (422, "ErrorResponse")
    assert answered["error"]["code"] == "VALIDATION"
    assert [(error["type"], error["loc"]) for error in answered["error"]["meta"]["errors"]] == [(kind, place)]


def test_tavily_answers_in_its_shape(demo: Client) -> None:
    """contract: Demo: scores between 0 and 1 in falling order, no usage and no date unless asked."""
    status, answered = demo.tavily("context manager")
    assert status == 200
    assert {"query", "answer", "images", "results", "response_time", "request_id"} <= set(answered)
    assert "usage" not in answered
    scores = [row["score"] for row in answered["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)
    assert all(set(row) == {"url", "title", "content", "score", "raw_content"} for row in answered["results"])
    assert " [...] " in answered["results"][0]["content"]


def test_tavily_max_results_cuts_the_list(demo: Client) -> None:
    """contract: Demo: 0 to 20, 10 when not given."""
    assert [len(demo.tavily("python", max_results=n)[1]["results"]) for n in (0, 3, 20)] == [0, 3, 20]
    assert len(demo.tavily("python", max_results=None)[1]["results"]) == 10


def test_tavily_domain_lists_restrict_prefer_and_exclude(index: Index) -> None:
    """contract: Demo: Tavily honours its domain filters, subdomains included."""

    def hosts(**fields: object) -> list[str]:
        body = json.dumps({"query": "same words"} | fields).encode()
        answered: Any = tavily.answer(index, Request({"authorization": "Bearer k"}, {}, body))[1]
        return [urlsplit(row["url"]).netloc for row in answered["results"]]

    every = hosts()
    last = every[-1]
    assert len(every) == 3
    assert hosts(include_domains=["b.example", "gov"], include_domains_mode="restrict") == ["www.b.example"]
    assert hosts(include_domains=["*.b.example"]) == ["www.b.example"]
    assert hosts(include_domains=[last], include_domains_mode="prefer") == [last, *every[:-1]]
    assert hosts(exclude_domains=[last]) == every[:-1]


def test_tavily_exact_match_needs_the_phrase(demo: Client) -> None:
    """contract: Demo: with `exact_match` only hits that hold the quoted phrase; without, quotes are plain text."""
    assert demo.tavily('"manager context"')[1]["results"]
    assert demo.tavily('"manager context"', exact_match=True)[1]["results"] == []
    found = demo.tavily('"context manager"', exact_match=True)[1]["results"]
    assert found
    assert all("context manager" in " ".join(row["content"].lower().split()) for row in found)


@pytest.mark.parametrize("fields", [{"include_published_date": True}, {"topic": "news"}])
def test_tavily_dates_are_null_when_asked_for(demo: Client, fields: dict[str, object]) -> None:
    """contract: Demo: no date is known, so none is invented; undated hits stay within a time range."""
    plain = demo.urls("tavily", "dict")
    rows = demo.tavily("dict", max_results=20, time_range="week", **fields)[1]["results"]
    assert [row["url"] for row in rows] == plain
    assert all(row["published_date"] is None for row in rows)


def test_tavily_usage_comes_when_asked_for(demo: Client) -> None:
    """contract: Demo: `usage` only with `include_usage`."""
    assert demo.tavily("dict", include_usage=True)[1]["usage"] == {"credits": 1}


@pytest.mark.parametrize("headers", [{}, {"Authorization": "k"}, {"Authorization": "Bearer "}])
def test_tavily_without_key_is_401(demo: Client, headers: dict[str, str]) -> None:
    """contract: Demo: 401 with an error under `detail`."""
    status, answered = demo.tavily("dict", headers)
    assert (status, list(answered["detail"])) == (401, ["error"])


@pytest.mark.parametrize(
    "fields",
    [
        {"query": ""},
        {"query": "a" * 401},
        {"max_results": 21},
        {"topic": "sports"},
        {"time_range": "hour"},
        {"time_range": "day", "start_date": "2026-01-01"},
        {"start_date": "2026-02-30"},
        {"start_date": "20260201"},
        {"start_date": "2026-02-02", "end_date": "2026-02-01"},
        {"include_domains": ["gov", "/"]},
        {"include_domains": ["a.example"] * 301},
        {"exclude_domains": ["a.example"] * 151},
        {"include_domains_mode": "restrict"},
        {"include_domains_mode": "filter", "include_domains": ["a.example"]},
    ],
)
def test_tavily_refuses_bad_values_with_400(demo: Client, fields: dict[str, object]) -> None:
    """contract: Demo: a rule broken is 400 with an error under `detail`."""
    status, answered = demo.tavily(**({"query": "dict"} | fields))
    assert (status, list(answered["detail"])) == (400, ["error"])


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"", ["body"]),
        (b"[]", ["body"]),
        (b"[" * 100_000, ["body"]),
        (b"{}", ["body", "query"]),
        (b'{"query": 1}', ["body", "query"]),
        (b'{"query": "q", "max_results": true}', ["body", "max_results"]),
        (b'{"query": "q", "include_domains": "x.example"}', ["body", "include_domains"]),
        (b'{"query": "q", "exclude_domains": [1]}', ["body", "exclude_domains"]),
        (b'{"query": "q", "exact_match": "yes"}', ["body", "exact_match"]),
    ],
)
def test_tavily_refuses_wrong_types_with_422(demo: Client, body: bytes, place: list[str]) -> None:
    """contract: Demo: a schema error is 422 with a list under `detail`."""
    response, answered = demo.send("POST", "/tavily/search", {"Authorization": "bearer k"}, body)
    assert response.status == 422
    assert [error["loc"] for error in json.loads(answered)["detail"]] == [place]
