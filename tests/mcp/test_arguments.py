"""What models send, and what is meant (contract: MCP)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.mcp.arguments import body_of, coerced
from sift.mcp.tools import BATCH, FETCH, SEARCH, TOOLS

NESTED = "[" * 100_000
MEANT: list[tuple[str, Any, Any]] = [
    ("k", "8", 8),
    ("k", 8.0, 8),
    ("k", "8.0", 8),
    ("k", " +8 ", 8),
    ("max_results", "8", 8),
    ("min_score", "0.5", 0.5),
    ("min_score", "1", 1),
    ("exact_match", "true", True),
    ("exact_match", "False", False),
    ("include_domains", '["a.example", "b.example"]', ["a.example", "b.example"]),
    ("include_domains", "a.example", ["a.example"]),
    ("include_domains", "[a.example", ["[a.example"]),
    ("include_domains", "", []),
    ("queries", NESTED, [NESTED]),
]
UNCLEAR: list[tuple[str, Any]] = [
    ("k", "eight"),
    ("k", 8.5),
    ("k", "8.5"),
    ("k", True),
    ("k", None),
    ("k", "1e3"),
    ("k", "٨"),
    ("k", "9" * 5000),
    ("min_score", "nan"),
    ("min_score", "1e999"),
    ("exact_match", "yes"),
    ("exact_match", 1),
    ("query", 8),
    ("query", '["a"]'),
    ("include_domains", {"a": 1}),
]


@pytest.mark.parametrize(("name", "sent", "meant"), MEANT)
def test_value_of_another_type_becomes_what_is_meant(name: str, sent: Any, meant: Any) -> None:
    """contract: MCP: as models were seen to send it."""
    found = body_of(SEARCH, {name: sent})[name]
    assert (found, type(found)) == (meant, type(meant))


@pytest.mark.parametrize(("name", "sent"), UNCLEAR)
def test_unclear_value_is_left_to_the_service(name: str, sent: Any) -> None:
    """contract: MCP: which refuses it."""
    assert body_of(SEARCH, {name: sent}) == {name: sent}


def test_unknown_argument_is_passed_on_and_two_are_dropped() -> None:
    """contract: MCP: the service names the unknown one in a note."""
    assert body_of(SEARCH, {"query": "x", "colour": "8", "rerank": False, "digest": True}) == {
        "query": "x",
        "colour": "8",
    }


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_number_that_is_none_is_refused_without_a_word_of_it(number: float) -> None:
    """contract: MCP: JSON has no such number."""
    with pytest.raises(ValueError, match=r"^no JSON$"):
        body_of(FETCH, {"url": "https://a.example/", "timeout": number})


@given(st.sampled_from([*SEARCH.fields, *FETCH.fields, *BATCH.fields]), st.none() | st.text() | st.floats())
def test_right_value_is_never_changed(field: Any, value: Any) -> None:
    """contract: MCP: coercion is idempotent, and raises nothing."""
    once = coerced(value, field)
    assert repr(coerced(once, field)) == repr(once)


def test_texts_are_texts_whatever_they_hold() -> None:
    """contract: MCP: a query that looks like a number or a list stays a query."""
    for tool in TOOLS.values():
        for field in tool.fields:
            if field.type == "string":
                assert [coerced(text, field) for text in ("8", "true", '["a"]')] == ["8", "true", '["a"]']
