"""The cache key holds everything that can change an answer, and nothing else (contract: Cache)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sift.search.cachekey import NOT_IN_KEY, cache_key, hour_bucket, payload
from sift.search.model import Filter, SearchRequest
from sift.search.query import normalise_query
from sift.search.schema import load_search
from tests.fakes import FakeSource, ask, engine_of, out
from tests.search.moderate import moderate

HOUR = "2026-09-29T12"
SOURCES = ("s1", "s2")
FULL = {
    "queries": ["B  b", "a"],
    "k": 8,
    "include_domains": ["Wiki.example.", "docs.example"],
    "exclude_domains": ["old.docs.example"],
    "include_domains_mode": "prefer",
    "time_range": "d",
    "topic": "news",
    "exact_match": False,
    "min_score": 0.25,
}


def key(
    fields: Mapping[str, Any], sources: tuple[str, ...] = SOURCES, caller: Any = "fleet", hour: str = HOUR
) -> bytes:
    """Return the key of a request's fields."""
    return cache_key(load_search(fields), sources, caller, hour)


def test_payload_full_is_the_golden_one() -> None:
    """contract: Cache: everything that the key holds."""
    assert payload(load_search(FULL), ("s2", "s1"), "restricted", HOUR) == {
        "caller_class": "restricted",
        "exact_match": False,
        "exclude_domains": ("old.docs.example",),
        "hour": HOUR,
        "include_domains": ("docs.example", "wiki.example"),
        "include_domains_mode": "prefer",
        "k": 8,
        "max_snippet": 0,
        "min_score": "0.25",
        "queries": ["B b", "a"],
        "rerank": True,
        "sources": ["s1", "s2"],
        "time_range": "day",
        "topic": "news",
    }


def test_payload_bare_is_the_golden_one() -> None:
    """contract: Cache: no mode without an include list; no dates and no range unless they are set."""
    assert payload(load_search({"query": "q"}), SOURCES, "fleet", HOUR) == {
        "caller_class": "fleet",
        "exact_match": False,
        "exclude_domains": (),
        "hour": HOUR,
        "include_domains": (),
        "k": 8,
        "max_snippet": 0,
        "min_score": "0",
        "queries": ["q"],
        "rerank": True,
        "sources": ["s1", "s2"],
        "topic": "general",
    }


def test_key_is_the_hash_of_the_canonical_payload() -> None:
    """contract: Cache: a JSON object, keys sorted, then SHA-256; this digest was computed apart from Sift."""
    assert key({"query": "q"}).hex() == GOLDEN


# printf '%s' '{"caller_class":"fleet","exact_match":false,…}' | sha256sum
GOLDEN = "470fb17e4d652e13dcb35a7db88559ee7198f20acf42475a3fe2ddc55ce66bff"


def test_fields_of_request_and_filter_are_all_decided() -> None:
    """contract: Cache: a new field fails here until it is decided whether the key holds it."""
    in_filter = {each.name for each in fields(Filter)}
    in_request = {each.name for each in fields(SearchRequest)} - {"filter"}
    shown = payload(
        load_search({**FULL, "time_range": None, "start_date": "2026-09-01", "end_date": "2026-09-02"}), (), "fleet", ""
    )
    shown |= payload(load_search({**FULL, "explain": True}), (), "fleet", "")
    assert in_filter | in_request == (shown.keys() - {"caller_class", "hour", "sources"}) | NOT_IN_KEY
    assert not in_filter & in_request  # in one object, a name used twice would hide one of them
    assert set(NOT_IN_KEY) == {"digest"}


@dataclass(frozen=True, slots=True)
class WiderFilter(Filter):
    """A filter with one more field."""

    language: str = "any"


@dataclass(frozen=True, slots=True)
class WiderRequest(SearchRequest):
    """A request with one more field."""

    safe: bool = False


def test_new_field_of_the_filter_is_in_the_key_by_itself() -> None:
    """contract: Cache: the key derives from the record; no list of fields can drift from it."""
    one, other = (SearchRequest(("q",), filter=WiderFilter(language=name)) for name in ("de", "fr"))
    assert cache_key(one, SOURCES, "fleet", HOUR) != cache_key(other, SOURCES, "fleet", HOUR)
    assert payload(one, SOURCES, "fleet", HOUR)["language"] == "de"


def test_new_field_of_the_request_is_in_the_key_by_itself() -> None:
    """contract: Cache: the same holds for the request's own fields."""
    one, other = (WiderRequest(("q",), safe=value) for value in (True, False))
    assert cache_key(one, SOURCES, "fleet", HOUR) != cache_key(other, SOURCES, "fleet", HOUR)


SAME = [
    pytest.param({}, {"topic": "general"}, id="omitted-topic-and-general"),
    pytest.param({"time_range": "d"}, {"time_range": "day"}, id="d-and-day"),
    pytest.param({"time_range": "y"}, {"time_range": "year"}, id="y-and-year"),
    pytest.param({}, {"min_score": 0}, id="omitted-score-and-0"),
    pytest.param({}, {"min_score": -0.0}, id="omitted-score-and-minus-0"),
    pytest.param({"min_score": 1}, {"min_score": 1.0}, id="1-and-1.0"),
    pytest.param({}, {"exact_match": False}, id="omitted-exact-match-and-false"),
    pytest.param({}, {"digest": True}, id="digest-changes-a-warning-only"),
    pytest.param({}, {"explain": False}, id="omitted-explain-and-false"),
    pytest.param({}, {"k": 8, "rerank": True, "max_snippet": 0}, id="defaults-spelled-out"),
    pytest.param({"k": 5}, {"max_results": 5}, id="k-and-its-other-name"),
    pytest.param({}, {"include_domains": [], "time_range": "", "topic": None}, id="omitted-forms"),
    pytest.param(
        {"include_domains": ["a.example", "b.example"]},
        {"include_domains": ["B.Example.", "a.example", "A.example"], "include_domains_mode": "restrict"},
        id="domains-in-any-spelling-and-order",
    ),
    pytest.param(
        {"exclude_domains": ["b.example", "a.example"]}, {"exclude_domains": ["A.EXAMPLE", "b.example."]}, id="excludes"
    ),
    pytest.param({"query": "a b"}, {"query": "  a \t b"}, id="query-blanks"),
    pytest.param({"query": "caf\u00e9"}, {"query": "cafe\u0301"}, id="query-normal-form"),
    pytest.param({"query": "a"}, {"queries": ["a"], "query": None}, id="one-query-and-a-list-of-one"),
    pytest.param({"query": "a"}, {"queries": ["a", " a"], "query": ""}, id="a-query-and-its-repeat"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_key_of_two_spellings_of_a_request_is_one(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """R6: requests that mean the same share an entry."""
    assert key({"query": "q", **one}) == key({"query": "q", **other})


VARIANTS: list[dict[str, Any]] = [
    {},
    {"query": "Q"},
    {"query": None, "queries": ["q", "r"]},
    {"query": None, "queries": ["r", "q"]},
    {"query": "q r"},
    {"k": 9},
    {"max_snippet": 300},
    {"rerank": False},
    {"include_domains": ["a.example"]},
    {"include_domains": ["a.example"], "include_domains_mode": "prefer"},
    {"include_domains": ["b.example"]},
    {"include_domains": ["a.example", "b.example"]},
    {"exclude_domains": ["a.example"]},
    {"exclude_domains": ["b.example"]},
    {"include_domains": ["a.example"], "exclude_domains": ["b.example"]},
    {"include_domains": ["b.example"], "exclude_domains": ["a.example"]},
    {"time_range": "day"},
    {"time_range": "week"},
    {"start_date": "2026-09-01"},
    {"end_date": "2026-09-01"},
    {"start_date": "2026-09-01", "end_date": "2026-09-01"},
    {"topic": "news"},
    {"topic": "finance"},
    {"query": '"q"', "exact_match": True},
    {"query": '"q"'},
    {"min_score": 0.5},
    {"min_score": 0.50000000000000011},
    {"min_score": 1},
]


def test_key_of_requests_that_differ_in_anything_differs() -> None:
    """R6: an answer is never served to a request with other filters; every pair is compared."""
    found = [key({"query": "q", **variant}) for variant in VARIANTS]
    assert len(set(found)) == len(VARIANTS)


def test_key_holds_caller_class_hour_and_sources() -> None:
    """R6: classes, hours and sets of sources do not share answers."""
    base = key({"query": "q"})
    assert key({"query": "q"}, caller="restricted") != base
    assert key({"query": "q"}, hour="2026-09-29T13") != base
    assert key({"query": "q"}, sources=("s1",)) != base
    assert key({"query": "q"}, sources=("s1", "s2", "s3")) != base
    assert key({"query": "q"}, sources=("s2", "s1")) == base


def test_hour_bucket_is_the_utc_hour() -> None:
    """contract: Cache: the hour is in UTC, whatever the host's zone."""
    assert hour_bucket(0.0) == "1970-01-01T00"
    assert hour_bucket(1_790_683_199.9) == "2026-09-29T11"
    assert hour_bucket(1_790_683_200.0) == "2026-09-29T12"


SCORES = [
    (0.0, "0"),
    (1.0, "1"),
    (0.5, "0.5"),
    (0.1, "0.1"),
    (1e-05, "0.00001"),
    (1.5e-07, "0.00000015"),
    (0.30000000000000004, "0.30000000000000004"),
    (5e-324, "0." + "0" * 323 + "5"),
]


@pytest.mark.parametrize(("score", "written"), SCORES, ids=repr)
def test_min_score_is_written_in_fixed_notation(score: float, written: str) -> None:
    """R6: the shortest digits that read back as the same double, no exponent, integers without a point."""
    request = SearchRequest(("q",), filter=Filter(min_score=score))
    assert payload(request, SOURCES, "fleet", HOUR)["min_score"] == written
    assert float(written) == score


@moderate
@given(st.floats(0, 1), st.floats(0, 1))
def test_min_score_is_written_without_loss(one: float, other: float) -> None:
    """R6: two scores share a key exactly if they are the same number."""
    forms = [payload(load_search({"query": "q", "min_score": x}), (), "fleet", "")["min_score"] for x in (one, other)]
    assert [float(form) for form in forms] == [one, other]
    assert (forms[0] == forms[1]) == (one == other)
    assert all(set(form) <= set("0123456789.") and not form.endswith(".") for form in forms)


# --- generated requests in two spellings

NAMES = st.sets(st.sampled_from(["a.example", "b.example", "docs.example", "gov", "192.0.2.7"]), max_size=4)


@st.composite
def two_spellings(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return one request in two spellings."""
    queries = draw(st.lists(st.sampled_from(["a b", "café", "Q", '"x y" z']), min_size=1, max_size=4, unique=True))
    include, exclude = draw(NAMES), draw(NAMES)
    mode = draw(st.sampled_from(["restrict", "prefer"])) if include else "restrict"
    range_ = draw(st.sampled_from(["", "day", "week", "month", "year"]))
    start = draw(st.sampled_from(["", "2026-09-01"])) if not range_ else ""
    topic, score = draw(st.sampled_from(["general", "news"])), draw(st.sampled_from([0, 0.5, 1]))

    def spelled() -> dict[str, Any]:
        def domains(names: set[str]) -> Any:
            entries = [draw(st.sampled_from([name, name.upper(), name + "."])) for name in sorted(names)]
            entries += draw(st.lists(st.sampled_from(entries), max_size=2)) if entries else []
            return draw(st.permutations(entries)) or draw(st.sampled_from([None, []]))

        asked = [
            draw(st.sampled_from([q, f" {q}\t", q.replace(" ", "  "), q.replace("é", "e\u0301")])) for q in queries
        ]
        asked += [asked[0]] if len(asked) < 4 and draw(st.booleans()) else []
        return {
            **({"query": asked[0]} if len(asked) == 1 and draw(st.booleans()) else {"queries": asked}),
            "include_domains": domains(include),
            "exclude_domains": domains(exclude),
            "include_domains_mode": draw(st.sampled_from([None, "", "restrict"]))
            if mode == "restrict" and include
            else mode
            if include
            else draw(st.sampled_from([None, ""])),
            "time_range": draw(st.sampled_from([range_, range_[:1]])),
            "start_date": start or draw(st.sampled_from([None, ""])),
            "topic": topic if topic != "general" else draw(st.sampled_from([None, "", "general"])),
            "min_score": score or draw(st.sampled_from([None, 0, 0.0, -0.0])),
            "exact_match": draw(st.sampled_from([None, False])),
            "digest": draw(st.booleans()),
        }

    return spelled(), spelled()


@moderate
@given(two_spellings())
@example(({"query": "python" + 500 * " " + "asyncio"}, {"query": "python asyncio"}))
@example(({"query": '"x   y"', "exact_match": True}, {"query": '"x y"', "exact_match": True}))
def test_requests_that_share_a_key_ask_a_vendor_for_the_same(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """R6: what a vendor is asked depends on nothing that is not in the key, so any of them may fill the entry."""
    asked = []
    for request in map(load_search, pair):
        source = FakeSource("s1", out("https://docs.example/"))
        ask(engine_of(source), *request.queries, filter=request.filter, k=request.k)
        asked.append(source.calls)
    assert asked[0] == asked[1]
    assert all(normalise_query(call.query) == call.query for call in asked[0])


@moderate
@given(
    two_spellings(),
    st.sampled_from(["", "k", "rerank", "topic", "min_score", "end_date", "exclude_domains", "queries"]),
)
def test_equal_requests_share_a_key_and_any_changed_field_does_not(
    pair: tuple[dict[str, Any], dict[str, Any]], changed: str
) -> None:
    """R6: any spelling and order of equal filters is one entry; a change of any field is another."""
    one, other = load_search(pair[0]), load_search(pair[1])
    change: dict[str, SearchRequest] = {
        "k": replace(other, k=other.k + 1),
        "rerank": replace(other, rerank=not other.rerank),
        "queries": replace(other, queries=(*other.queries, "one more")),
        "topic": replace(other, filter=replace(other.filter, topic="finance")),
        "min_score": replace(other, filter=replace(other.filter, min_score=0.75)),
        "end_date": replace(other, filter=replace(other.filter, end_date="2026-09-30")),
        "exclude_domains": replace(
            other, filter=replace(other.filter, exclude_domains=(*other.filter.exclude_domains, "zz.example"))
        ),
    }
    keys = cache_key(one, SOURCES, "fleet", HOUR), cache_key(change.get(changed, other), SOURCES, "fleet", HOUR)
    assert (keys[0] == keys[1]) is (not changed)


def test_payload_is_json_with_plain_ascii() -> None:
    """contract: Cache: the hashed text can always be encoded."""
    for queries in itertools.permutations(["é", "\N{GRINNING FACE}", "日本"], 2):
        text = json.dumps(payload(SearchRequest(queries), SOURCES, "fleet", HOUR))
        assert text.isascii()
