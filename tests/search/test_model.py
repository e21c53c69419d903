"""The records that travel through a search."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields

import pytest

from sift.search.model import Filter, Hit, SearchRequest, SearchResult, Sizes, SourceOut, encode, not_applied, unique

HIT = Hit("https://docs.example/", "Title", "Text.", "s1", 0.5)


@pytest.mark.parametrize(
    ("filter", "kinds"),
    [
        (Filter(), ()),
        (Filter(include_domains=("a.example",)), ("domains",)),
        (Filter(exclude_domains=("a.example",)), ("domains",)),
        (Filter(time_range="day"), ("time",)),
        (Filter(start_date="2026-09-01"), ("time",)),
        (Filter(end_date="2026-09-01"), ("time",)),
        (Filter(topic="news"), ("topic",)),
        (Filter(exact_match=True), ("exact",)),
        (Filter(min_score=0.1), ("score",)),
        (
            Filter(min_score=0.1, exact_match=True, topic="news", time_range="day", exclude_domains=("a.example",)),
            ("domains", "time", "topic", "exact", "score"),
        ),
    ],
)
def test_filter_kinds_name_what_is_set_and_never_a_value(filter: Filter, kinds: tuple[str, ...]) -> None:
    """R9: the kinds that the fleet log names, in fixed order."""
    assert filter.kinds() == kinds


def test_filter_default_is_off_in_every_field() -> None:
    """contract: Search request: `Filter()` filters nothing."""
    assert not Filter().kinds()
    assert (Filter().prefers, Filter().restricts, Filter().dated) == (False, False, False)


@pytest.mark.parametrize("mode", ["restrict", "prefer"])
def test_filter_mode_without_a_list_means_nothing(mode: str) -> None:
    """contract: Domains: the mode belongs to the include list."""
    alone = Filter(include_domains_mode=mode)  # type: ignore[arg-type]
    assert (alone.prefers, alone.restricts) == (False, False)
    with_list = Filter(include_domains=("a.example",), include_domains_mode=mode)  # type: ignore[arg-type]
    assert (with_list.prefers, with_list.restricts) == (mode == "prefer", mode == "restrict")


def test_records_cannot_be_changed() -> None:
    """contract: Cache: what is stored is immutable."""
    for record in (Filter(), SearchRequest(("q",)), SourceOut(), SearchResult(b"[]", Sizes(0, 0, 0))):
        for each in fields(record):
            with pytest.raises(FrozenInstanceError):
                setattr(record, each.name, None)
            hash(getattr(record, each.name))  # and so is all that it holds


def test_query_length_is_the_sum_of_code_points() -> None:
    """R9: `q_len` of several queries."""
    assert SearchRequest(("ab", "\N{GRINNING FACE}é")).q_len == 4


def test_hit_with_a_date_shows_it_as_sent() -> None:
    """contract: Search answer: dates are never re-formatted."""
    date = "Tue, 01 Sep 2026 08:00:00 GMT"
    assert HIT._replace(published_date=date).as_dict() == {**HIT.as_dict(), "published_date": date}


def test_hit_without_a_date_has_no_such_key() -> None:
    """contract: Search answer: an unknown date has no key; keys are in the contract's order."""
    assert list(HIT.as_dict()) == ["url", "title", "snippet", "source", "score"]
    assert list(HIT._replace(published_date="d").as_dict())[-1] == "published_date"


def test_result_decodes_to_the_hits_it_was_made_of() -> None:
    """contract: Search answer: encoding loses nothing."""
    shown = [HIT.as_dict(), HIT._replace(title='日本 \u2028 \\ "').as_dict()]
    assert SearchResult(encode(shown), Sizes(2, 2, 2)).hits() == shown


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_encoding_a_number_that_is_no_json_fails_loudly(number: float) -> None:
    """contract: Search answer: bare NaN is never written."""
    with pytest.raises(ValueError, match="JSON"):
        encode({"score": number})


def test_encoding_is_utf8_and_reads_back() -> None:
    """contract: Search answer: strict JSON."""
    assert encode(["é", "\N{GRINNING FACE}"]) == '["é", "\N{GRINNING FACE}"]'.encode()
    assert json.loads(encode({"a": ("b", None)})) == {"a": ["b", None]}


def test_unique_keeps_first_seen_order() -> None:
    """contract: Search answer: warnings are unique, in first-seen order."""
    assert unique(("b", "a", "b", "c", "a")) == ("b", "a", "c")


def test_not_applied_names_the_set_fields_only() -> None:
    """contract: Notes: one wording for all vendors."""
    assert not_applied("s1", {"topic": True, "min_score": False, "start_date/end_date": True}) == (
        "s1: topic not applied",
        "s1: start_date/end_date not applied",
    )
