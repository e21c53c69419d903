"""Validation of `POST /v1/search`: a table with a row for each sentence of the contract.

contract: Search request, Queries, Domains, Dates and topics.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.api.body import parse_object
from sift.errors import InvalidJsonError, InvalidQueryError, InvalidSearchError
from sift.search.model import Filter, SearchRequest
from sift.search.schema import load_search, unknown_field_warnings
from tests.search.moderate import moderate

Payload = Mapping[str, Any]
TWENTY = [f"d{number}.example" for number in range(20)]
EMOJI = "\N{GRINNING FACE}"


def refused_field(payload: Payload) -> str:
    """Return the hint of the error that a payload causes: "query" for `invalid query`, "" if it is valid."""
    try:
        load_search(payload)
    except InvalidQueryError:
        return "query"
    except InvalidSearchError as error:
        return error.field
    return ""


REFUSED = [
    # --- exactly one of query and queries
    pytest.param({}, "query", id="neither-query-nor-queries"),
    pytest.param({"query": "a", "queries": ["b"]}, "query", id="both-set"),
    pytest.param({"query": "a", "queries": ["a"]}, "query", id="both-set-and-equal"),
    pytest.param({"query": None, "queries": None}, "query", id="both-null"),
    pytest.param({"query": "", "queries": []}, "query", id="both-empty"),
    pytest.param({"query": ""}, "query", id="query-empty"),
    pytest.param({"queries": []}, "query", id="queries-empty"),
    pytest.param({"queries": ["a", " "]}, "query", id="queries-with-blank-element"),
    pytest.param({"queries": ["a", None]}, "query", id="queries-with-null"),
    pytest.param({"queries": ["a", 5]}, "query", id="queries-with-number"),
    pytest.param({"queries": list("abcde")}, "query", id="queries-five"),
    pytest.param({"queries": ["a"] * 5}, "query", id="queries-five-repeats-count-before-they-go"),
    pytest.param({"queries": "abc"}, "query", id="queries-string"),
    pytest.param({"queries": ""}, "query", id="queries-empty-string-is-a-wrong-type"),
    pytest.param({"queries": {"0": "a"}}, "query", id="queries-object"),
    pytest.param({"query": "a", "queries": ""}, "query", id="query-beside-queries-of-wrong-type"),
    pytest.param({"query": ["a"]}, "query", id="query-list"),
    pytest.param({"query": []}, "query", id="query-empty-list-is-a-wrong-type"),
    pytest.param({"query": [], "queries": ["a"]}, "query", id="query-empty-list-beside-queries"),
    pytest.param({"query": 5}, "query", id="query-number"),
    pytest.param({"query": 0, "queries": ["a"]}, "query", id="query-zero-beside-queries"),
    pytest.param({"query": True}, "query", id="query-boolean"),
    pytest.param({"query": {}}, "query", id="query-object"),
    pytest.param({"query": "a" * 1501}, "query", id="query-1501-letters"),
    pytest.param({"queries": ["a", "b" * 1501]}, "query", id="queries-one-too-long"),
    pytest.param({"queries": ["a", "b\udc00"]}, "query", id="queries-surrogate"),
    # --- domains
    *(
        pytest.param({"query": "q", field: value}, field, id=f"{field}-{name}")
        for field in ("include_domains",)
        for name, value in {
            "string": "docs.example",
            "empty-string-is-a-wrong-type": "",
            "object": {"a.example": 1},
            "number": 5,
            "true": True,
            "false": False,
            "with-null": [None],
            "with-number": [5],
            "search-syntax": ["a.com OR b.com"],
            "wildcard": ["*.example"],
            "leading-blank": [" a.example"],
            "trailing-blank": ["a.example "],
            "trailing-newline": ["a.example\n"],
            "scheme": ["https://a.example"],
            "port": ["a.example:443"],
            "path": ["a.example/x"],
            "unicode": ["münchen.example"],
            "leading-dot": [".docs.example"],
            "double-dot": ["docs..example"],
            "two-trailing-dots": ["docs.example.."],
            "leading-hyphen": ["-a.example"],
            "trailing-hyphen": ["a.example-"],
            "leading-hyphen-of-inner-label": ["a.-b.example"],
            "empty-entry": [""],
            "dot": ["."],
            "underscore": ["a_b.example"],
            "ipv6": ["[2001:db8::1]"],
            "user-info": ["u@a.example"],
            "good-then-bad": ["a.example", "b c"],
            "label-64": ["a" * 64 + ".example"],
            "254-characters": [".".join(["a" * 63] * 3 + ["b" * 62])],
            "kelvin-sign": ["\u212aing.example"],
            "long-s": ["do\u017fs.example"],
            "full-width-letters": ["ａ.example"],
            "full-width-dot": ["a．example"],
            "nul": ["a\x00.example"],
            "21-distinct": [*TWENTY, "one-more.example"],
        }.items()
    ),
    pytest.param({"query": "q", "exclude_domains": "a.example"}, "exclude_domains", id="exclude-string"),
    pytest.param({"query": "q", "exclude_domains": ["a b"]}, "exclude_domains", id="exclude-no-hostname"),
    # --- include_domains_mode
    pytest.param({"query": "q", "include_domains_mode": "prefer"}, "include_domains_mode", id="mode-without-list"),
    pytest.param(
        {"query": "q", "include_domains_mode": "restrict"}, "include_domains_mode", id="restrict-without-list"
    ),
    pytest.param(
        {"query": "q", "include_domains": [], "include_domains_mode": "prefer"},
        "include_domains_mode",
        id="mode-with-empty-list",
    ),
    pytest.param(
        {"query": "q", "include_domains": None, "include_domains_mode": "prefer"},
        "include_domains_mode",
        id="mode-with-null-list",
    ),
    pytest.param(
        {"query": "q", "exclude_domains": ["a.example"], "include_domains_mode": "prefer"},
        "include_domains_mode",
        id="mode-with-exclude-list-only",
    ),
    *(
        pytest.param(
            {"query": "q", "include_domains": ["a.example"], "include_domains_mode": value},
            "include_domains_mode",
            id=f"mode-{name}",
        )
        for name, value in {
            "unknown": "only",
            "upper-case": "Prefer",
            "blank": " ",
            "boolean": True,
            "list": ["prefer"],
            "empty-list": [],
        }.items()
    ),
    # --- time_range
    *(
        pytest.param({"query": "q", "time_range": value}, "time_range", id=f"time-range-{name}")
        for name, value in {
            "unknown": "decade",
            "upper-case": "Day",
            "upper-case-alias": "D",
            "hour": "h",
            "blank": " ",
            "with-blank": "day ",
            "number": 1,
            "false": False,
            "list": ["day"],
            "empty-list": [],
            "object": {},
        }.items()
    ),
    # --- dates
    *(
        pytest.param({"query": "q", field: value}, field, id=f"{field}-{name}")
        for field in ("start_date",)
        for name, value in {
            "compact": "20260901",
            "week": "2026-W36-2",
            "unpadded": "2026-9-1",
            "leading-blank": " 2026-09-01",
            "newline": "2026-09-01\n",
            "arabic-indic": "\u0662\u0660\u0662\u0666-\u0660\u0669-\u0660\u0661",
            "no-leap-day": "2026-02-29",
            "year-0": "0000-01-01",
            "five-digit-year": "12026-09-01",
            "utc": "2026-09-01T00:00:00Z",
            "word": "today",
            "blank": " ",
            "number": 20260901,
            "boolean": True,
            "list": ["2026-09-01"],
            "empty-list": [],
        }.items()
    ),
    pytest.param({"query": "q", "start_date": "2026-09-29", "end_date": "2026-09-01"}, "end_date", id="end-first"),
    pytest.param({"query": "q", "time_range": "week", "start_date": "2026-09-01"}, "time_range", id="with-start"),
    pytest.param({"query": "q", "time_range": "week", "end_date": "2026-09-01"}, "time_range", id="with-end"),
    pytest.param(
        {"query": "q", "time_range": "w", "start_date": "2026-09-01", "end_date": "2026-09-02"},
        "time_range",
        id="with-both",
    ),
    # --- topic
    *(
        pytest.param({"query": "q", "topic": value}, "topic", id=f"topic-{name}")
        for name, value in {
            "unknown": "sport",
            "upper-case": "News",
            "blank": " ",
            "boolean": False,
            "list": ["news"],
            "empty-list": [],
        }.items()
    ),
    # --- min_score
    *(
        pytest.param({"query": "q", "min_score": value}, "min_score", id=f"min-score-{name}")
        for name, value in {
            "above-1": 1.0000000000000002,
            "negative": -0.1,
            "smallest-negative": -5e-324,
            "true": True,
            "false": False,
            "string": "0.5",
            "empty-string-is-a-wrong-type": "",
            "empty-list-is-a-wrong-type": [],
            "object": {},
            "infinity": float("inf"),
            "nan": float("nan"),
            "10-to-400": 10**400,
        }.items()
    ),
    # --- exact_match
    *(
        pytest.param({"query": '"a b"', "exact_match": value}, "exact_match", id=f"exact-match-{name}")
        for name, value in {
            "1": 1,
            "0": 0,
            "string-true": "true",
            "off": "off",
            "empty-string-is-a-wrong-type": "",
            "empty-list": [],
            "object": {},
        }.items()
    ),
    *(
        pytest.param({"query": query, "exact_match": True}, "exact_match", id=f"exact-match-{name}")
        for name, query in {
            "no-phrase": "a b",
            "unpaired": 'a "b',
        }.items()
    ),
    pytest.param({"queries": ['"a b"', "c"], "exact_match": True}, "exact_match", id="exact-match-one-query-without"),
    # --- k
    *(
        pytest.param({"query": "q", "k": value}, "k", id=f"k-{name}")
        for name, value in {
            "0": 0,
            "51": 51,
            "10-to-30": 10**30,
            "true": True,
            "false": False,
            "string": "8",
            "fraction": 8.9,
            "whole-float": 8.0,
            "arabic-digit": "٧",
            "empty-string-is-a-wrong-type": "",
            "empty-list-is-a-wrong-type": [],
            "object": {},
        }.items()
    ),
    # --- max_results, another name of k
    *(
        pytest.param({"query": "q"} | fields, "k", id=f"max-results-{name}")
        for name, fields in {
            "51": {"max_results": 51},
            "whole-float": {"max_results": 5.0},
            "string": {"max_results": "5"},
            "empty-string-is-a-wrong-type": {"max_results": ""},
            "and-another-k": {"max_results": 5, "k": 6},
            "wrong-beside-a-good-k": {"max_results": 0, "k": 5},
            "good-beside-a-wrong-k": {"max_results": 5, "k": 0},
        }.items()
    ),
    # --- max_snippet
    *(
        pytest.param({"query": "q", "max_snippet": value}, "max_snippet", id=f"max-snippet-{name}")
        for name, value in {"negative": -1, "10001": 10001, "true": True, "float": 300.0, "string": "300"}.items()
    ),
    # --- rerank, digest
    *(
        pytest.param({"query": "q", field: value}, field, id=f"{field}-{name}")
        for field in ("rerank",)
        for name, value in {
            "string-false": "false",
            "1": 1,
            "0": 0,
            "yes": "yes",
            "empty-string-is-a-wrong-type": "",
            "empty-list-is-a-wrong-type": [],
        }.items()
    ),
]


@pytest.mark.parametrize(("payload", "field"), REFUSED)
def test_request_with_a_bad_field_is_refused_by_name(payload: Payload, field: str) -> None:
    """contract: Search request: "query" stands for `invalid query`, other hints for `invalid search`."""
    assert refused_field(payload) == field


BAD = {
    "include_domains": ["a b"],
    "exclude_domains": ["a b"],
    "include_domains_mode": "only",
    "time_range": "decade",
    "start_date": "x",
    "end_date": "x",
    "topic": "sport",
    "min_score": 2,
    "exact_match": 1,
    "k": 0,
    "max_snippet": -1,
    "rerank": 1,
    "digest": 1,
    "explain": 1,
}
ORDER = list(BAD)


@pytest.mark.parametrize("first", range(len(ORDER)), ids=ORDER)
def test_request_with_several_bad_fields_names_the_first_in_order(first: int) -> None:
    """contract: Search request: the order of precedence, independent of the order in the body."""
    later = ORDER[first:]
    assert refused_field({"query": "q"} | {name: BAD[name] for name in later}) == ORDER[first]
    assert refused_field({name: BAD[name] for name in reversed(later)} | {"query": "q"}) == ORDER[first]


@pytest.mark.parametrize("query", [{}, {"query": "a\x00"}, {"queries": []}, {"query": "a", "queries": ["b"]}])
def test_request_with_a_bad_query_and_bad_fields_names_the_query(query: Payload) -> None:
    """contract: Search request: query errors take precedence."""
    assert refused_field({**BAD, **query}) == "query"


PRECEDENCE = [
    pytest.param(
        {"start_date": "2026-09-01", "end_date": "x", "time_range": "week"},
        "end_date",
        id="malformed-before-cross-field",
    ),
    pytest.param(
        {"start_date": "x", "end_date": "2026-09-01", "time_range": "week"},
        "start_date",
        id="malformed-start-and-range",
    ),
    pytest.param({"start_date": "2026-09-01", "time_range": "decade"}, "time_range", id="malformed-range-and-date"),
    pytest.param({"start_date": "2026-09-01", "end_date": "2026-09-1"}, "end_date", id="malformed-end-after-start"),
    pytest.param({"start_date": "2026-09-31", "end_date": "2026-09-01"}, "start_date", id="malformed-start-after-end"),
    pytest.param(
        {"start_date": "2026-09-02", "end_date": "2026-09-01", "time_range": "week"},
        "time_range",
        id="two-cross-field-rules",
    ),
    pytest.param(
        {"start_date": "2026-09-02", "end_date": "2026-09-01", "topic": "sport"}, "end_date", id="cross-before-topic"
    ),
    pytest.param(
        {"include_domains": ["a b"], "include_domains_mode": "prefer"}, "include_domains", id="bad-list-and-mode"
    ),
    pytest.param({"include_domains_mode": "only"}, "include_domains_mode", id="bad-mode-without-list"),
    pytest.param({"include_domains_mode": "prefer", "time_range": "x"}, "include_domains_mode", id="mode-before-range"),
    pytest.param({"exact_match": True, "k": 0}, "exact_match", id="missing-phrase-before-k"),
    pytest.param({"exact_match": True, "min_score": 2}, "min_score", id="min-score-before-missing-phrase"),
]


@pytest.mark.parametrize(("fields", "field"), PRECEDENCE)
def test_request_with_malformed_fields_and_broken_rules_names_one(fields: Payload, field: str) -> None:
    """contract: Search request: a malformed field is named before any broken rule in which it takes part."""
    assert refused_field({"query": "q", **fields}) == field


ACCEPTED = [
    pytest.param({"query": "a"}, SearchRequest(("a",)), id="defaults"),
    pytest.param({"query": "  a  b \n"}, SearchRequest(("a  b",)), id="blanks-round-a-query-are-cut"),
    pytest.param({"queries": ["a", " b "]}, SearchRequest(("a", "b")), id="queries-in-order"),
    pytest.param({"queries": list("abcd")}, SearchRequest(("a", "b", "c", "d")), id="queries-four"),
    pytest.param({"query": "", "queries": ["a"]}, SearchRequest(("a",)), id="empty-query-beside-queries"),
    pytest.param({"query": " \t", "queries": ["a"]}, SearchRequest(("a",)), id="blank-query-beside-queries"),
    pytest.param({"query": None, "queries": ["a"]}, SearchRequest(("a",)), id="null-query-beside-queries"),
    pytest.param({"query": "a", "queries": []}, SearchRequest(("a",)), id="empty-queries-beside-query"),
    pytest.param({"query": "a", "queries": None}, SearchRequest(("a",)), id="null-queries-beside-query"),
    pytest.param({"query": "a" * 1500}, SearchRequest(("a" * 1500,)), id="query-1500-letters"),
    pytest.param({"query": EMOJI * 1500}, SearchRequest((EMOJI * 1500,)), id="query-1500-emoji"),
    pytest.param({"query": " " * 9 + "a" * 1500 + " "}, SearchRequest(("a" * 1500,)), id="cap-counts-after-the-cut"),
    pytest.param({"query": 'say "a b'}, SearchRequest(('say "a b',)), id="quotes-are-ordinary-text"),
    pytest.param(
        {"query": 'say "a b', "exact_match": False}, SearchRequest(('say "a b',)), id="quotes-with-exact-match-false"
    ),
    pytest.param(
        {"queries": ["a  b", "c", "a b", " a b "]},
        SearchRequest(("a  b", "c")),
        id="repeats-are-asked-once-as-first-spelled",
    ),
    pytest.param(
        {"queries": ["caf\u00e9", "cafe\u0301"]}, SearchRequest(("caf\u00e9",)), id="repeats-in-another-normal-form"
    ),
    pytest.param({"queries": ["a", "A"]}, SearchRequest(("a", "A")), id="case-makes-queries-different"),
    pytest.param({"query": "a", "k": 1}, SearchRequest(("a",), k=1), id="k-1"),
    pytest.param({"query": "a", "k": 50}, SearchRequest(("a",), k=50), id="k-50"),
    pytest.param({"query": "a", "max_results": 5}, SearchRequest(("a",), k=5), id="max-results-is-k"),
    pytest.param({"query": "a", "max_results": 5, "k": 5}, SearchRequest(("a",), k=5), id="max-results-and-k-agree"),
    pytest.param({"query": "a", "max_results": None, "k": 5}, SearchRequest(("a",), k=5), id="max-results-null"),
    pytest.param({"query": "a", "max_results": 5, "k": None}, SearchRequest(("a",), k=5), id="max-results-and-null-k"),
    pytest.param({"query": "a", "max_snippet": 10000}, SearchRequest(("a",), max_snippet=10000), id="max-snippet"),
    pytest.param({"query": "a", "rerank": False}, SearchRequest(("a",), rerank=False), id="rerank-false"),
    pytest.param({"query": "a", "digest": True}, SearchRequest(("a",), digest=True), id="digest-true"),
    pytest.param({"query": "a", "explain": True}, SearchRequest(("a",), explain=True), id="explain-true"),
    pytest.param({"query": "a"} | dict.fromkeys(BAD) | {"queries": None}, SearchRequest(("a",)), id="every-field-null"),
    pytest.param(
        {"query": "a", "include_domains": [], "exclude_domains": [], "include_domains_mode": "", "time_range": ""}
        | {"start_date": "", "end_date": "", "topic": ""},
        SearchRequest(("a",)),
        id="every-list-and-string-empty",
    ),
    pytest.param(
        {"query": "a", "unknown": 5, "caller_class": "fleet"}, SearchRequest(("a",)), id="unknown-fields-ignored"
    ),
]

ACCEPTED_FILTERS = [
    *(
        pytest.param({"include_domains": [entry]}, Filter(include_domains=(normal,)), id=f"domain-{name}")
        for name, entry, normal in [
            ("punycode", "xn--p1ai.example", "xn--p1ai.example"),
            ("leading-digit", "3m.example", "3m.example"),
            ("one-label", "gov", "gov"),
            ("mixed-case", "Pinterest.Example", "pinterest.example"),
            ("trailing-dot", "docs.example.", "docs.example"),
            ("numeric", "192.0.2.7", "192.0.2.7"),
            ("label-63", "a" * 63 + ".example", "a" * 63 + ".example"),
            ("253-characters", ".".join(["a" * 63] * 3 + ["b" * 61]), ".".join(["a" * 63] * 3 + ["b" * 61])),
            ("253-and-a-dot", ".".join(["a" * 63] * 3 + ["b" * 61]) + ".", ".".join(["a" * 63] * 3 + ["b" * 61])),
        ]
    ),
    pytest.param(
        {"include_domains": ["uni.example", "edu"]},
        Filter(include_domains=("edu", "uni.example")),
        id="two-and-sorted",
    ),
    pytest.param({"include_domains": TWENTY}, Filter(include_domains=tuple(sorted(TWENTY))), id="twenty-includes"),
    pytest.param(
        {
            "exclude_domains": [
                *TWENTY[:19],
                "D0.example",
                "d1.EXAMPLE.",
                "d2.example",
                "D3.Example.",
                "d4.example",
                "d5.example",
            ]
        },
        Filter(exclude_domains=tuple(sorted(TWENTY[:19]))),
        id="repeats-do-not-count",
    ),
    pytest.param(
        {"include_domains": TWENTY, "exclude_domains": TWENTY},
        Filter(include_domains=tuple(sorted(TWENTY)), exclude_domains=tuple(sorted(TWENTY))),
        id="twenty-of-each",
    ),
    pytest.param(
        {"include_domains": ["a.example"], "include_domains_mode": "restrict"},
        Filter(include_domains=("a.example",)),
        id="restrict-is-the-omitted-mode",
    ),
    pytest.param(
        {"include_domains": ["a.example"], "include_domains_mode": ""},
        Filter(include_domains=("a.example",)),
        id="empty-mode-is-omitted",
    ),
    pytest.param(
        {"include_domains": ["a.example"], "include_domains_mode": "prefer"},
        Filter(include_domains=("a.example",), include_domains_mode="prefer"),
        id="prefer",
    ),
    *(
        pytest.param({"time_range": value}, Filter(time_range=long), id=f"time-range-{value}")
        for long in ("day", "week", "month", "year")
        for value in (long, long[0])
    ),
    pytest.param({"start_date": "2026-09-01"}, Filter(start_date="2026-09-01"), id="start-only"),
    pytest.param({"end_date": "2026-09-01"}, Filter(end_date="2026-09-01"), id="end-only"),
    pytest.param(
        {"start_date": "2026-09-01", "end_date": "2026-09-01"},
        Filter(start_date="2026-09-01", end_date="2026-09-01"),
        id="one-day",
    ),
    pytest.param({"start_date": "2024-02-29"}, Filter(start_date="2024-02-29"), id="leap-day"),
    pytest.param(
        {"time_range": "week", "start_date": "", "end_date": None},
        Filter(time_range="week"),
        id="range-and-omitted-dates",
    ),
    pytest.param({"topic": "general"}, Filter(), id="topic-general-is-off"),
    pytest.param({"topic": "news"}, Filter(topic="news"), id="topic-news"),
    pytest.param({"topic": "finance"}, Filter(topic="finance"), id="topic-finance"),
    pytest.param({"min_score": 0}, Filter(), id="min-score-0-is-off"),
    pytest.param({"min_score": 0.0}, Filter(), id="min-score-0.0-is-off"),
    pytest.param({"min_score": -0.0}, Filter(), id="min-score-minus-0-is-off"),
    pytest.param({"min_score": 1}, Filter(min_score=1.0), id="min-score-1"),
    pytest.param({"min_score": 1.0}, Filter(min_score=1.0), id="min-score-1.0"),
    pytest.param({"min_score": 5e-324}, Filter(min_score=5e-324), id="min-score-smallest"),
    pytest.param({"exact_match": False}, Filter(), id="exact-match-false-is-off"),
]


@pytest.mark.parametrize(("payload", "request_"), ACCEPTED)
def test_request_that_is_legal_is_read(payload: Payload, request_: SearchRequest) -> None:
    """contract: Queries: absent forms, surrounding white space, repeats, the limit in code points."""
    assert load_search(payload) == request_


@pytest.mark.parametrize(("fields", "filter"), ACCEPTED_FILTERS)
def test_filter_that_is_legal_is_read_in_normal_form(fields: Payload, filter: Filter) -> None:
    """contract: Search request: every filter comes out in its normal form."""
    loaded = load_search({"query": "q", **fields}).filter
    assert loaded == filter
    assert str(loaded.min_score) == str(filter.min_score)  # -0.0 equals 0.0, but is written differently


@pytest.mark.parametrize("query", ['"a b"', 'x "a" y', '"a" "b"', '"" "a"', '" "', '"a"b"c"'])
def test_exact_match_with_a_balanced_phrase_leaves_the_query_unchanged(query: str) -> None:
    """contract: Queries: one quoted phrase of one or more code points is enough; the query is not rewritten."""
    assert load_search({"query": query, "exact_match": True}) == SearchRequest(
        (query,), filter=Filter(exact_match=True)
    )


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_min_score_that_is_no_json_number_is_refused_by_parser_or_field(text: str) -> None:
    """contract: Search request: bare NaN and Infinity never get past the parser, 1e999 never past the field."""
    body = f'{{"query": "q", "min_score": {text}}}'.encode()
    if text == "1e999":
        assert refused_field(parse_object(body)) == "min_score"
    else:
        with pytest.raises(InvalidJsonError):
            parse_object(body)


def test_duplicate_keys_the_last_counts() -> None:
    """contract: Search request: of duplicate keys the last counts, for the request and for its warnings alike."""
    payload = parse_object(b'{"query": "a", "k": 0, "query": "b", "k": 3, "x": 1, "x": 2}')
    assert load_search(payload) == SearchRequest(("b",), k=3)
    assert unknown_field_warnings(payload) == ("unknown field ignored: x",)


UNKNOWN = [
    ("include_domain", "include_domains"),
    ("includeDomains", "include_domains"),
    ("include-domains", "include_domains"),
    ("excludeDomains", "exclude_domains"),
    ("timerange", "time_range"),
    ("Time_Range", "time_range"),
    ("start_dat", "start_date"),
    ("Query", "query"),
    ("t-o-p-i-c", "topic"),
    ("t_o_p_i_c", "topic"),
    ("querys", "query"),
    ("minscore", "min_score"),
    ("exact", None),
    ("maxResults", "max_results"),
    ("max_result", "max_results"),
    ("search_depth", None),
    ("caller_class", None),
    ("x", None),
    ("", None),
]


@pytest.mark.parametrize(("name", "meant"), UNKNOWN)
def test_unknown_field_is_named_with_the_one_probably_meant(name: str, meant: str | None) -> None:
    """contract: Search request: a mistyped filter is never silently dropped."""
    hint = f" (did you mean {meant}?)" if meant else ""
    assert unknown_field_warnings({"query": "q", name: 1}) == (f"unknown field ignored: {name}{hint}",)


def test_unknown_fields_none_gives_no_warning() -> None:
    """contract: Search request: no field of a request is unknown."""
    assert unknown_field_warnings({"query": "q", "queries": [], "max_results": 5, **BAD}) == ()


def test_unknown_fields_many_are_named_five_times_at_most() -> None:
    """contract: Search request: at most 5 warnings, in the body's order."""
    payload = {"query": "q", **{f"zz{number}": 1 for number in range(9)}}
    assert unknown_field_warnings(payload) == tuple(f"unknown field ignored: zz{number}" for number in range(5))


def test_unknown_field_name_is_cut_and_cleaned() -> None:
    """contract: Search request: control and format characters are removed, then the name is cut at 64 characters."""
    assert unknown_field_warnings({"z" * 65: 1}) == ("unknown field ignored: " + "z" * 64,)
    assert unknown_field_warnings({"z" * 64: 1}) == ("unknown field ignored: " + "z" * 64,)
    assert unknown_field_warnings({"z\x1b[31m\x00\x85\u202e\ud800z": 1}) == ("unknown field ignored: z[31mz",)
    assert unknown_field_warnings({"z\x00": 1, "z\x01": 1}) == ("unknown field ignored: z",)


@moderate
@given(
    st.dictionaries(
        st.sampled_from([*ORDER, "query", "queries", "other"]),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-2, 60)
            | st.floats(allow_nan=False)
            | st.sampled_from(["", " ", "a", '"a"', "day", "d", "news", "prefer", "2026-09-01", "docs.example"])
            | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
            max_leaves=5,
        ),
    )
)
def test_request_of_any_json_is_read_or_refused_by_a_known_name(payload: dict[str, Any]) -> None:
    """contract: Search request: any body gives a request or one of the two errors; nothing else is raised."""
    field = refused_field(payload)
    assert field in ("", "query", *ORDER)
    if not field:
        request = load_search(payload)
        assert 1 <= len(request.queries) <= 4
        assert 1 <= request.k <= 50
        assert load_search(json.loads(json.dumps(payload))) == request
