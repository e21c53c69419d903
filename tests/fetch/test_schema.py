"""Validation of `POST /v1/fetch`: a table with a row for each sentence of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.errors import InvalidFetchError
from sift.fetch.fields import FIELDS
from sift.fetch.model import FetchRequest
from sift.fetch.schema import load_fetch, unknown_field_warnings

URL = "https://a.example/"
NAMES = [field.name for field in FIELDS]
NO_STRINGS: dict[str, Any] = {"list": [URL], "empty-list": [], "object": {}, "number": 5, "zero": 0, "false": False}
NO_NUMBERS: dict[str, Any] = {"text": "1000", "empty-list": [], "object": {}, "true": True, "false": False}


def refused_field(payload: Mapping[str, Any]) -> str:
    """Return the hint of the error that a payload causes, "" if it is valid."""
    try:
        load_fetch(payload)
    except InvalidFetchError as error:
        return error.field
    return ""


def rows(field: str, values: Mapping[str, Any]) -> list[Any]:
    return [pytest.param({"url": URL, field: value}, field, id=f"{field}-{name}") for name, value in values.items()]


REFUSED = [
    pytest.param({}, "url", id="url-missing"),
    *rows("url", {"null": None, "empty": "", **NO_STRINGS}),
    *rows("format", {**NO_STRINGS, "html": "html", "upper-case": "Markdown", "blank": " markdown", "alias": "md"}),
    *rows(
        "max_chars",
        {**NO_NUMBERS, "below": 999, "above": 200_001, "fraction": 1000.0, "empty": "", "zero": 0, "huge": 10**400},
    ),
    *rows("start", {**NO_NUMBERS, "below": -1, "above": 10_000_001, "fraction": 0.0, "empty": ""}),
    *rows("max_age", {**NO_NUMBERS, "below": -0.001, "above": 86_400.5, "empty": "", "nan": float("nan")}),
    *rows(
        "timeout",
        {**NO_NUMBERS, "below": 0.999, "zero": 0, "above": 30.001, "empty": "", "endless": float("inf")},
    ),
]


@pytest.mark.parametrize(("payload", "field"), REFUSED)
def test_field_is_wrong_it_is_named(payload: Mapping[str, Any], field: str) -> None:
    """contract: Fetch: types are strict, bounds hold, and the hint names the field."""
    assert refused_field(payload) == field


ACCEPTED = {
    "url alone": ({}, FetchRequest(URL)),
    "bounds below": (
        {"format": "markdown", "max_chars": 1000, "start": 0, "max_age": 0, "timeout": 1},
        FetchRequest(URL, "markdown", 1000, 0, 0, 1),
    ),
    "bounds above": (
        {"format": "text", "max_chars": 200_000, "start": 10_000_000, "max_age": 86_400, "timeout": 30},
        FetchRequest(URL, "text", 200_000, 10_000_000, 86_400, 30),
    ),
    "fractions": ({"max_age": 0.5, "timeout": 2.5}, FetchRequest(URL, max_age=0.5, timeout=2.5)),
    "minus zero": ({"max_age": -0.0}, FetchRequest(URL, max_age=0)),
    "null": (dict.fromkeys(NAMES[1:]), FetchRequest(URL)),
    "empty format": ({"format": ""}, FetchRequest(URL)),
    "unknown": ({"formats": ["html"], "html": True}, FetchRequest(URL)),
}


@pytest.mark.parametrize(("fields", "request_"), ACCEPTED.values(), ids=ACCEPTED)
def test_field_is_right_or_absent_it_is_taken(fields: Mapping[str, Any], request_: FetchRequest) -> None:
    """contract: Fetch, Search request: bounds are inclusive; null, and "" for a string, mean left out."""
    assert load_fetch({"url": URL, **fields}) == request_


@pytest.mark.parametrize("url", ["x", "http://127.0.0.1/", " ", "a" * 5000, "\ud800", "javascript:1"])
def test_text_of_a_url_is_no_matter_of_the_fields(url: str) -> None:
    """contract: Fetch: what may be opened is judged by the guard, whose answer is another."""
    assert load_fetch({"url": url}).url == url


def test_several_fields_are_wrong_the_first_of_the_table_is_named() -> None:
    """contract: Fetch: the order of the table decides, not that of the body."""
    wrong: dict[str, Any] = {name: [] for name in reversed(NAMES)}
    for name in NAMES:
        assert refused_field(wrong) == name
        wrong[name] = URL if name == "url" else None
    assert refused_field(wrong) == ""


def test_unknown_fields_are_named_with_the_likely_one() -> None:
    """contract: Fetch, Search request: at most five, in the order of the body, without what could hide in a name."""
    payload = {"URL": 1, "maxChars": 1, "stop\u202e": 1, **{f"x{n}": 1 for n in range(9)}, "url": URL}
    assert unknown_field_warnings(payload) == (
        "unknown field ignored: URL (did you mean url?)",
        "unknown field ignored: maxChars (did you mean max_chars?)",
        "unknown field ignored: stop",
        "unknown field ignored: x0",
        "unknown field ignored: x1",
    )
    assert unknown_field_warnings(dict.fromkeys(NAMES)) == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(NAMES) | st.text(max_size=6), JSON))
def test_any_object_is_a_request_within_bounds_or_names_a_field(payload: dict[str, Any]) -> None:
    """contract: Fetch: no body gets past its validation, or breaks it."""
    if (named := refused_field(payload)) != "":
        assert named in NAMES
        return
    request = load_fetch(payload)
    for field in FIELDS:
        value = getattr(request, field.name)
        assert not field.choices or value in field.choices
        assert field.minimum is None or field.minimum <= value <= (field.maximum or 0)
