"""Brave's request and answer (contract: Brave, HTTP calls)."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import responses

from sift.config import SourceConfig
from sift.errors import SourceError
from sift.search.merge import SourceList, build_hits, merge
from sift.search.model import Filter, Hit, SourceOut
from sift.sources.brave import Brave, notes, parse
from tests.calls import later
from tests.sources.filters import FILTERS, QUERY

NONE = Filter()
URL = "https://brave.example/res/v1/llm/context"


def row(url: Any = "https://docs.example/a", **fields: Any) -> dict[str, Any]:
    """Return a row of `grounding.generic`."""
    return {"url": url, "title": "A title", "snippets": ["First.", "Second."]} | fields


def body(*rows: Any, sources: Any = None, **grounding: Any) -> dict[str, Any]:
    """Return an answer."""
    return {"grounding": {"generic": list(rows), "map": [], **grounding}, "sources": {} if sources is None else sources}


def shown(out: SourceOut) -> list[Hit]:
    """Return the hits as an answer shows them."""
    lists = [SourceList("brave_llm", out.hits)]
    return list(build_hits(merge(lists, rerank=False), [lists], 50))


@cache
def source() -> Brave:
    return Brave.from_config(SourceConfig("brave_llm", URL, "key", timeout=2.5), 1)


def asked(query: str, chosen: Filter = NONE) -> tuple[SourceOut, list[str]]:
    """Search once; return the outcome and the URLs called."""
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        mock.get(URL, json=body(row()), match=[responses.matchers.header_matcher({"X-Subscription-Token": "key"})])
        out = source().search(query, 8, chosen, deadline=later())
        return out, [str(call.request.url) for call in mock.calls]


# The request


def test_search_any_filter_url_is_unchanged_but_for_q() -> None:
    """contract: Brave: no filter is ever sent, the query is not rewritten, and the token has its own header."""
    _, unfiltered = asked(QUERY)
    assert unfiltered == [URL + "?q=find+%22this+phrase%22+now"]
    for chosen in FILTERS[::31]:
        assert asked(QUERY, chosen)[1] == unfiltered


def test_search_settings_are_the_configured_ones() -> None:
    """contract: Settings: the timeout is the configured one; the list takes part in the RRF sum."""
    assert (source().timeout, source().reranked, source().name) == (2.5, True, "brave_llm")


def test_notes_any_filter_are_unique_and_exactly_those_due() -> None:
    """contract: Notes: all of Brave's notes, for every combination; domain lists have none."""
    for chosen in FILTERS:
        due = {
            "brave_llm: time_range not applied": chosen.time_range is not None,
            "brave_llm: start_date/end_date not applied": bool(chosen.start_date or chosen.end_date),
            "brave_llm: topic not applied": chosen.topic != "general",
            "brave_llm: exact_match not applied": chosen.exact_match,
            "brave_llm: include_domains_mode=prefer not applied": chosen.prefers,
            "brave_llm: min_score not applied": chosen.min_score > 0,
        }
        assert sorted(notes(chosen)) == sorted(note for note, is_due in due.items() if is_due)


def test_search_filters_are_noted_and_hits_kept() -> None:
    """R1, R2: notes never cost a hit."""
    out, _ = asked(QUERY, Filter(min_score=0.9, topic="news"))
    assert out.notes == ("brave_llm: topic not applied", "brave_llm: min_score not applied")
    assert (len(out.hits), out.found, out.warn, out.asked) == (1, 1, "", True)


@pytest.mark.parametrize(
    ("query", "sent", "cuts"),
    [
        ("w " * 60, "w+" * 49 + "w", ("brave_llm: query cut to 50 words",)),
        ("x" * 401, "x" * 400, ("brave_llm: query cut to 400 characters",)),
        (
            "123456789 " * 60,
            "+".join(["123456789"] * 40),
            ("brave_llm: query cut to 50 words", "brave_llm: query cut to 400 characters"),
        ),
    ],
)
def test_search_query_is_long_it_is_cut_with_one_note_per_cut(query: str, sent: str, cuts: tuple[str, ...]) -> None:
    """contract: Texts: Brave refuses more than 50 words or 400 characters; cuts are noted after filters."""
    out, urls = asked(query.strip(), Filter(topic="news"))
    assert urls == [f"{URL}?q={sent}"]
    assert out.notes == ("brave_llm: topic not applied", *cuts)


@pytest.mark.parametrize("query", ['"a b" ' + "w " * 49, '"a b" ' + "x" * 400])
def test_search_query_is_long_and_exact_it_is_not_asked(query: str) -> None:
    """contract: Texts: with exact_match nothing is cut; the source is not asked, and a note says so."""
    out, urls = asked(query.strip(), Filter(exact_match=True))
    assert urls == []
    assert out == SourceOut(notes=("brave_llm: query too long, not asked",), asked=False)


# The answer


def test_parse_snippets_are_joined_by_a_blank_line() -> None:
    """contract: Brave: each snippet is folded by itself, snippets are joined by an empty line."""
    out = parse(
        body(row(snippets=["One\n two.", "<b>Three</b> &amp; four", "\u202e", ' {"a": 1}', "| a | b |\n|---|"]))
    )
    assert shown(out) == [
        Hit(
            "https://docs.example/a",
            "A title",
            'One two.\n\nThree & four\n\n{"a": 1}\n\n| a | b | |---|',
            "brave_llm",
            0.0,
            "",
        )
    ]


def test_parse_order_is_the_lists_and_a_url_may_come_twice() -> None:
    """contract: Merge: repeats are merged later, where the longer snippet wins."""
    out = parse(body(row(snippets=["Short."]), row("https://b.example/"), row(snippets=["A good deal longer."])))
    assert [hit.url for hit in out.hits] == ["https://docs.example/a", "https://b.example/", "https://docs.example/a"]
    assert [hit.snippet for hit in shown(out)] == ["A good deal longer.", "First.\n\nSecond."]


@pytest.mark.parametrize("title", [None, "", 7])
def test_parse_title_is_missing_that_of_sources_stands_in(title: Any) -> None:
    """contract: Brave: a missing title falls back to `sources[url].title`, then the host."""
    about = {"https://docs.example/a": {"title": "From sources", "hostname": "docs.example", "age": None}}
    assert [hit.title for hit in shown(parse(body(row(title=title), sources=about)))] == ["From sources"]
    assert [hit.title for hit in shown(parse(body(row(title=title))))] == ["docs.example"]
    bare = row()
    del bare["title"]
    assert [hit.title for hit in shown(parse(body(bare, sources=about)))] == ["From sources"]


@pytest.mark.parametrize("about", [None, "x", {}, {"title": 4}])
def test_parse_sources_entry_is_odd_host_stands_in(about: Any) -> None:
    """contract: HTTP calls: a wrong type is absent."""
    out = parse(body(row(title=None), sources={"https://docs.example/a": about}))
    assert [hit.title for hit in shown(out)] == ["docs.example"]


@pytest.mark.parametrize("sources", ["x", ["https://docs.example/a"]])
def test_parse_sources_are_of_a_wrong_type_hits_stay(sources: Any) -> None:
    """contract: HTTP calls: every field optional."""
    assert [hit.title for hit in shown(parse(body(row(title=None), sources=sources)))] == ["docs.example"]


@pytest.mark.parametrize(
    ("snippets", "text"),
    [
        (None, ""),
        ("not a list", ""),
        ([{"text": "inside"}, 7, None, "kept", ["x"], True], "kept"),
    ],
)
def test_parse_snippets_are_odd_the_hit_stays(snippets: Any, text: str) -> None:
    """contract: HTTP calls: strings count, anything else is absent."""
    assert [hit.snippet for hit in shown(parse(body(row(snippets=snippets))))] == [text]


def test_parse_snippets_are_more_than_brave_sends_the_first_hundred_are_read() -> None:
    """contract: Brave: a row made to be slow to read does not hold up an answer."""
    (hit,) = parse(body(row(snippets=["x"] * 250))).hits
    assert len(hit.content.texts) == 100


@pytest.mark.parametrize("age", [["Friday, August 14, 2026", "2026-08-14", "46 days"], "x"])
def test_parse_age_is_there_it_is_no_date(age: Any) -> None:
    """contract: Brave: `age` may be a modification date, so it is none."""
    about = {"https://docs.example/a": {"title": "T", "hostname": "docs.example", "age": age}}
    out = parse(body(row(age=age, published_date="2026-01-01"), sources=about))
    assert [(hit.published_date, hit.score) for hit in shown(out)] == [("", 0.0)]


@pytest.mark.parametrize("url", [None, "javascript:void(0)", ["x"]])
def test_parse_row_has_no_usable_url_it_alone_is_dropped(url: Any) -> None:
    """contract: HTTP calls: a row without an absolute http(s) URL costs no other row."""
    out = parse(body(row(url, title=None), row("https://good.example/"), "junk", None, sources={"": {"title": "x"}}))
    assert [hit.url for hit in out.hits] == ["https://good.example/"]
    assert out.found == 1


def test_parse_local_results_are_there_only_generic_ones_count() -> None:
    """contract: Brave: `poi` and `map` are ignored, whatever they hold."""
    poi = {"name": "Cafe", "url": "https://cafe.example/", "snippets": None}
    assert [hit.url for hit in parse(body(row(), poi=poi, map=[{"url": None}])).hits] == ["https://docs.example/a"]
    assert len(parse(body(row(), poi=None, map=None)).hits) == 1


def test_parse_nothing_was_found_is_a_success() -> None:
    """contract: Search answer: zero hits from a source that worked."""
    assert parse(body()) == SourceOut(found=0)


@pytest.mark.parametrize(
    "answer",
    [
        {"sources": {}},
        {"grounding": []},
        {"grounding": {}},
        {"grounding": {"generic": {}}},
        {"type": "ErrorResponse", "error": {"status": 500, "code": "INTERNAL"}},
    ],
)
def test_parse_result_list_is_missing_bad_response(answer: Any) -> None:
    """contract: HTTP calls: a 200 without its list of results is `bad response`."""
    with pytest.raises(SourceError, match=r"^bad response$"):
        parse(answer)
