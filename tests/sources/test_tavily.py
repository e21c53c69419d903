"""Tavily's request and answer (contract: Tavily)."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
import responses

from sift.config import SourceConfig
from sift.errors import SourceError
from sift.search.merge import SourceList, build_hits, merge
from sift.search.model import Filter, Hit, SourceOut
from sift.sources.tavily import Tavily, notes, parse, request_body
from tests.calls import later
from tests.sources.filters import FILTERS, QUERY

NONE = Filter()
URL = "https://tavily.example/search"
FIXED = {
    "search_depth": "basic",
    "auto_parameters": False,
    "include_answer": False,
    "include_raw_content": False,
    "include_images": False,
    "max_results": 20,
}


@cache
def source() -> Tavily:
    return Tavily.from_config(SourceConfig("tavily", URL, "key", timeout=2.5), 1)


def row(url: Any = "https://docs.example/a", **fields: Any) -> dict[str, Any]:
    """Return a result."""
    return {"url": url, "title": "A title", "content": "Some content.", "score": 0.8, "raw_content": None} | fields


def body(*rows: Any, **more: Any) -> dict[str, Any]:
    """Return an answer."""
    empty = {"query": "q", "follow_up_questions": None, "answer": None, "images": []}
    return {**empty, "results": list(rows), "response_time": 1.07, "request_id": "5f0c", **more}


def shown(out: SourceOut) -> list[Hit]:
    """Return the hits as an answer shows them."""
    lists = [SourceList("tavily", out.hits)]
    return list(build_hits(merge(lists, rerank=False), [lists], 50))


def asked(query: str, chosen: Filter = NONE, answer: Any = None, k: int = 8) -> tuple[SourceOut, list[Any]]:
    """Search once; return the outcome, and each call's method, URL and body."""
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        key = responses.matchers.header_matcher({"Authorization": "Bearer key", "Content-Type": "application/json"})
        mock.post(URL, json=body(row()) if answer is None else answer, match=[key])
        out = source().search(query, k, chosen, deadline=later())
        calls = [(call.request.method, call.request.url, json.loads(call.request.body)) for call in mock.calls]
        return out, calls


# The request


def test_request_without_filters_holds_the_fixed_fields() -> None:
    """contract: Tavily: the fields that are always sent."""
    assert request_body("cats", Filter()) == {"query": "cats", **FIXED}


def test_request_any_filter_fixed_fields_stay_and_no_unknown_one_is_sent() -> None:
    """contract: Tavily: nothing that costs more is requested, and no unlisted field is sent."""
    assert len(FILTERS) > 500
    filters = {
        "include_domains",
        "exclude_domains",
        "include_domains_mode",
        "time_range",
        "start_date",
        "end_date",
        "topic",
        "exact_match",
        "include_published_date",
    }
    for chosen in FILTERS:
        sent = request_body(QUERY, chosen)
        assert {name: sent[name] for name in FIXED} == FIXED
        assert all(type(sent[name]) is type(value) for name, value in FIXED.items())
        assert sent["query"] == QUERY
        assert set(sent) <= {"query", *FIXED, *filters}
        assert not [value for value in sent.values() if value is None or value in ("", [])]
        assert json.loads(json.dumps(sent)) == sent


def test_request_any_filter_time_range_and_dates_are_never_both_sent() -> None:
    """contract: Tavily: a time range or dates, as they were set."""
    for chosen in FILTERS:
        sent = request_body(QUERY, chosen)
        assert sent.get("time_range") == chosen.time_range
        assert sent.get("start_date") == chosen.start_date
        assert sent.get("end_date") == chosen.end_date
        assert "time_range" not in sent or not {"start_date", "end_date"} & set(sent)


def test_request_any_filter_domains_are_sent_with_a_mode_or_not_at_all() -> None:
    """contract: Tavily: the mode is sent with a list only, `restrict` too; entries without a dot are left out."""
    for chosen in FILTERS:
        sent = request_body(QUERY, chosen)
        include = [domain for domain in chosen.include_domains if domain not in ("gov", "edu")]
        exclude = [domain for domain in chosen.exclude_domains if domain != "cn"]
        assert sent.get("include_domains", []) == include
        assert sent.get("include_domains_mode") == (chosen.include_domains_mode if include else None)
        assert sent.get("exclude_domains", []) == exclude


def test_request_any_filter_topic_exact_match_and_date_field_only_when_due() -> None:
    """contract: Tavily: topic, exact_match and include_published_date are sent only when due."""
    for chosen in FILTERS:
        sent = request_body(QUERY, chosen)
        assert sent.get("topic") == (None if chosen.topic == "general" else chosen.topic)
        assert sent.get("exact_match") is (True if chosen.exact_match else None)
        dated = bool(chosen.time_range or chosen.start_date or chosen.end_date)
        assert sent.get("include_published_date") is (True if chosen.topic == "news" or dated else None)


def test_search_both_lists_are_set_both_are_sent() -> None:
    """contract: Tavily: both domain lists are sent as arrays; one that is not set is absent."""
    both = Filter(include_domains=("a.example",), exclude_domains=("x.a.example",))
    ((_, _, sent),) = asked("q", both)[1]
    lists = {"include_domains": ["a.example"], "include_domains_mode": "restrict", "exclude_domains": ["x.a.example"]}
    assert sent == {"query": "q", **FIXED, **lists}
    ((_, _, sent),) = asked("q")[1]
    assert sent == {"query": "q", **FIXED}


def test_notes_any_filter_only_of_dotless_include_domains() -> None:
    """contract: Notes: an entry left out of the include list is noted, one of the exclude list is not."""
    for chosen in FILTERS:
        said = ("tavily: include_domains without a dot not sent",)
        assert notes(chosen) == (said if {"gov", "edu"} & set(chosen.include_domains) else ())


def test_search_is_one_post_to_the_configured_url() -> None:
    """contract: Tavily: one POST to the configured URL, whatever `k` is."""
    for k in (1, 8, 50):
        out, calls = asked(QUERY, Filter(exact_match=True, topic="news"), k=k)
        fields = {"query": QUERY, "topic": "news", "exact_match": True, "include_published_date": True}
        assert calls == [("POST", URL, FIXED | fields)]
        assert (len(out.hits), out.notes, out.asked, out.credits) == (1, (), True, 1)


@pytest.mark.parametrize("rerank", [True, False])
def test_settings_are_the_configured_ones(rerank: bool) -> None:
    """contract: Settings: timeout and `SIFT_TAVILY_RERANK` are the configured ones."""
    made = Tavily.from_config(SourceConfig("tavily", URL, "key", timeout=2.5, rerank=rerank), 1)
    assert (made.name, made.timeout, made.reranked) == ("tavily", 2.5, rerank)


def test_search_query_is_long_it_is_cut_with_a_note() -> None:
    """contract: Texts: Tavily refuses more than 400 characters; it does not count words."""
    out, calls = asked("word " * 90 + "w", Filter(include_domains=("gov",)))
    assert calls[0][2]["query"] == "word " * 79 + "word"
    assert out.notes == ("tavily: include_domains without a dot not sent", "tavily: query cut to 400 characters")
    out, calls = asked("w " * 90 + "w")
    assert calls[0][2]["query"] == "w " * 90 + "w"
    assert out.notes == ()


def test_search_query_is_long_and_exact_it_is_not_asked() -> None:
    """contract: Texts: with exact_match nothing is cut; the source is not asked, and a note says so."""
    out, calls = asked('"a b" ' + "x" * 400, Filter(exact_match=True))
    assert calls == []
    assert out == SourceOut(notes=("tavily: query too long, not asked",), asked=False)


# The answer


def test_parse_answer_and_extras_are_there_only_hits_come_out() -> None:
    """contract: Tavily: a generated answer is dropped, with everything else that was not requested."""
    out = parse(
        body(
            row(raw_content="RAW", favicon="x", id="1", images=["y"]),
            answer="GENERATED",
            images=[{"url": "https://images.example/i.png", "description": "d"}],
            follow_up_questions=["more?"],
            auto_parameters={"search_depth": "advanced"},
            usage={"credits": 2},
        )
    )
    assert shown(out) == [Hit("https://docs.example/a", "A title", "Some content.", "tavily", 0.8, "")]
    assert out.credits == 2
    assert not [word for word in ("GENERATED", "RAW", "i.png", "more?") if word in repr(shown(out))]


@pytest.mark.parametrize(
    "date",
    [
        "Tue, 01 Sep 2026 08:00:00 GMT",
        "2026-08-30",
    ],
)
def test_parse_date_is_given_it_is_passed_on(date: str) -> None:
    """contract: Search answer: dates are passed on as sent."""
    assert [hit.published_date for hit in shown(parse(body(row(published_date=date))))] == [date]


@pytest.mark.parametrize("date", [None, "", 1790000000, ["2026-09-01"], "3 days ago"])
def test_parse_date_is_missing_none_is_invented(date: Any) -> None:
    """contract: Search answer: without a date there is no key in the answer."""
    out = parse(body(row(published_date=date), row("https://b.example/")))
    assert [hit.published_date for hit in shown(out)] == ["", ""]
    assert not [hit for hit in shown(out) if "published_date" in hit.as_dict()]


@pytest.mark.parametrize("value", [None, 0, ["part one", "part two"]])
def test_parse_text_is_of_a_wrong_type_it_is_absent(value: Any) -> None:
    """contract: HTTP calls: a wrong type counts as absent; the title falls back to the host."""
    out = parse(body(row(title=value, content=value)))
    assert [(hit.title, hit.snippet) for hit in shown(out)] == [("docs.example", "")]


def test_parse_content_is_markdown_chunks_it_is_one_line() -> None:
    """contract: Texts: Tavily's chunks, with headings and line ends, become one line."""
    out = parse(body(row(content="# Head\n\nFirst chunk. [...] Second\tchunk &amp; more.")))
    assert [hit.snippet for hit in shown(out)] == ["# Head First chunk. [...] Second chunk & more."]


@pytest.mark.parametrize("junk", [None, "text", row(None), row("ftp://a.example/"), {}])
def test_parse_row_is_junk_it_alone_is_dropped(junk: Any) -> None:
    """contract: HTTP calls: a bad row costs no other row."""
    out = parse(body(junk, row("https://good.example/"), junk))
    assert [hit.url for hit in out.hits] == ["https://good.example/"]
    assert out.found == 1


@pytest.mark.parametrize(
    ("score", "shown_score", "is_kept"),
    [
        (4.898674, 4.898674, True),
        (0.5, 0.5, True),
        (1, 1.0, True),
        (0.4999999999999999, 0.4999999999999999, False),
        (0, 0.0, False),
        (-1.0, -1.0, False),
        (None, 0.0, False),
        ("0.9", 0.0, False),
        (True, 0.0, False),
        (float("nan"), 0.0, False),
        (float("inf"), 0.0, False),
        (10**400, 0.0, False),
    ],
)
def test_parse_min_score_is_set_lower_and_unscored_hits_go(score: Any, shown_score: float, is_kept: bool) -> None:
    """R2: Tavily's own score decides; what is no finite number is no score; `found` counts before."""
    rows = body(row(score=score))
    assert [hit.content.score for hit in parse(rows).hits] == [shown_score]
    cut = parse(rows, 0.5)
    assert [hit.content.score for hit in cut.hits] == ([shown_score] if is_kept else [])
    assert (parse(rows).found, cut.found) == (1, 1)
    assert all(type(hit.content.score) is float for hit in parse(rows).hits)


def test_parse_score_is_missing_it_is_as_none() -> None:
    """contract: Tavily: an absent score is none."""
    bare = row()
    del bare["score"]
    assert [hit.content.score for hit in parse(body(bare)).hits] == [0.0]
    assert len(parse(body(bare), 0.1).hits) == 0


def test_search_min_score_is_set_it_is_applied_here() -> None:
    """contract: Tavily: lower hits go before any merge, equal ones stay."""
    rows = [row("https://a.example/", score=0.49), row("https://b.example/", score=0.5), row(score=0.9)]
    out, _ = asked("q", Filter(min_score=0.5), body(*rows))
    assert [hit.content.score for hit in out.hits] == [0.5, 0.9]
    assert out.notes == ()


@pytest.mark.parametrize(
    ("usage", "credits"),
    [
        ({"credits": 1}, 1),
        ({"credits": 17}, 17),
        ({"credits": 0}, 1),
        ({"credits": 2.0}, 1),
        ({"credits": True}, 1),
        ({"credits": "2"}, 1),
        ({}, 1),
        (None, 1),
        ([2], 1),
        ({"credits": 10**30}, 1_000_000),
    ],
)
def test_parse_usage_counts_credits(usage: Any, credits: int) -> None:
    """contract: Tavily: anything but an integer of at least 1 means 1; none is too large for the ledger."""
    booked = parse(body(usage=usage)).credits
    assert (booked, type(booked)) == (credits, int)


def test_parse_usage_is_absent_it_is_one_credit() -> None:
    """contract: Tavily: without usage the price is 1."""
    assert parse(body()).credits == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"detail": {"error": "x"}},
        {"results": None, "query": "x"},
        {"results": {}},
    ],
)
def test_parse_result_list_is_missing_bad_response(answer: Any) -> None:
    """contract: HTTP calls: a 200 without its list of results is `bad response`."""
    with pytest.raises(SourceError, match=r"^bad response$") as raised:
        parse(answer)
    assert raised.value.sent


def test_parse_host_is_off_the_list_hit_stays_here() -> None:
    """contract: Domain filter: a source filters no domains; that happens after the merge."""
    assert len(parse(body(row("https://other.test/x"))).hits) == 1
