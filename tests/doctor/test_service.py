"""The running service (contract: Doctor)."""

from __future__ import annotations

from typing import Any

import pytest

from sift.doctor.service import check_search, check_status, not_there, refused

STATUS: dict[str, Any] = {"version": "1.2", "sources": [{"name": "searxng", "state": "ok"}], "demo": False}


def test_service_that_is_well_is_one_line() -> None:
    """contract: Doctor: its version and its sources."""
    assert check_status(STATUS, "1.2") == [("ok", "service", "Sift 1.2 answers, with 1 source", "")]


def test_other_version_than_this_is_a_warning() -> None:
    """contract: Doctor: it was updated and not restarted."""
    (found,) = check_status(STATUS, "1.3")
    assert (found.level, found.what) == ("warn", "it runs Sift 1.2, and this is 1.3")


@pytest.mark.parametrize(
    ("state", "what"),
    [
        ("failing", "brave_llm: its last call failed (timeout)"),
        ("resting", "brave_llm: it is skipped after failures in a row (timeout)"),
        ("capped", "brave_llm: it is at its cap"),
    ],
)
def test_source_that_is_not_well_is_a_warning(state: str, what: str) -> None:
    """contract: Doctor: the states of the status, with the last failure's words."""
    source = {"name": "brave_llm", "state": state, "last_failure": {"reason": "timeout", "at": "…"}}
    _, found = check_status(STATUS | {"sources": [source]}, "1.2")
    assert (found.level, found.what) == ("warn", what)


def test_demo_is_a_warning() -> None:
    """contract: Doctor: its answers are not the web's."""
    assert [each.level for each in check_status(STATUS | {"demo": True}, "1.2")] == ["ok", "warn"]


def test_strange_status_breaks_nothing() -> None:
    """contract: Doctor: what answers may be anything."""
    assert check_status({"version": None, "sources": [1, {}, {"state": []}]}, "1.2")


@pytest.mark.parametrize(("was_named", "level"), [(True, "fail"), (False, "warn")])
def test_no_service_fails_where_one_was_named(was_named: bool, level: str) -> None:
    """contract: Doctor: before the first start there is none, which is no fault."""
    assert not_there("refused", was_named=was_named).level == level


@pytest.mark.parametrize(
    ("status", "hint", "has_token", "level"),
    [
        (401, "", True, "fail"),
        (401, "", False, "ok"),
        (403, "class", True, "ok"),
        (403, "origin", False, "fail"),
        (404, "", True, "fail"),
        (500, "", True, "fail"),
    ],
)
def test_refused_status_is_explained(status: int, hint: str, has_token: bool, level: str) -> None:
    """contract: Doctor: without a token of class fleet it is known to answer, and no more."""
    assert refused(status, hint, has_token=has_token).level == level


def test_every_sources_share_in_a_search_is_shown() -> None:
    """contract: Doctor: outcome, hits, time and credits, and how many of the shown hits it has."""
    answer = {
        "results": [
            {"why": [{"source": "searxng"}, {"source": "tavily"}]},
            {"why": [{"source": "searxng"}, {"source": "searxng"}]},
        ],
        "cached": False,
        "explain": {
            "sources": [
                {"source": "searxng", "outcome": "ok", "ms": 40, "hits": 9, "credits": 0},
                {"source": "brave_llm", "outcome": "http 422", "ms": 30, "hits": 0, "credits": 0},
                {"source": "tavily", "outcome": "ok", "ms": 50, "hits": 5, "credits": 1},
            ]
        },
    }
    assert [(each.level, each.what) for each in check_search(answer)] == [
        ("ok", "2 hits"),
        ("ok", "searxng: 9 hits in 40 ms; 2 of the 2 shown"),
        ("fail", "brave_llm: http 422"),
        ("ok", "tavily: 5 hits in 50 ms, 1 credit; 1 of the 2 shown"),
    ]


def test_search_without_hits_is_a_warning() -> None:
    """contract: Doctor: sources answered, and had nothing; one whose answer is no envelope breaks nothing."""
    assert [each.level for each in check_search({"results": [], "explain": 5})] == ["warn"]
