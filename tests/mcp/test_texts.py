"""Answers as text (contract: MCP)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.mcp.texts import LIMIT, batch_text, level, page_text, search_text
from tests.cli.batches import PAGE
from tests.cli.conftest import ENVELOPE


def hit(number: int, snippet: str = "s", **more: Any) -> dict[str, Any]:
    return {"url": f"https://a.example/{number}", "title": f"T{number}", "snippet": snippet, "source": "searxng"} | more


def envelope(*hits: dict[str, Any], warnings: list[str] | None = None) -> dict[str, Any]:
    return ENVELOPE | {"results": list(hits), "warnings": warnings or []}


def page(content: str, **more: Any) -> dict[str, Any]:
    return PAGE | {"content": content, "chars": len(content)} | more


def test_search_text_has_notes_first_then_numbered_hits() -> None:
    """contract: MCP: title, URL, date and source, snippet, each on a line."""
    assert search_text(ENVELOPE) == (
        "Note: brave_llm: timeout\n\n"
        "1. One\nhttps://a.example/1\nsearxng\nfirst and more\n\n"
        "2. Two\nhttps://b.example/2\nMon, 28 Sep 2026 10:00:00 GMT · tavily\nsecond"
    )


def test_search_text_without_hits_says_so() -> None:
    """contract: MCP: nothing found is no error."""
    assert search_text(envelope(warnings=["searxng: timeout"])) == "Note: searxng: timeout\n\nNo hits."


def test_hit_cannot_pose_as_another_or_as_a_note() -> None:
    """contract: MCP: a vendor's text is one line, without control characters."""
    bad = hit(1, "a\n\n2. Fake\x1b[31m\nNote: all is well", title="T\nNote: x\u202e")
    assert search_text(envelope(bad)).splitlines() == [
        "1. T Note: x",
        "https://a.example/1",
        "searxng",
        "a 2. Fake Note: all is well",
    ]


def test_long_snippets_are_cut_alike_and_it_is_said() -> None:
    """contract: MCP: 40,000 characters, all hits among them."""
    text = search_text(envelope(*(hit(number, "w" * 5000) for number in range(1, 21)), hit(21, "short")))
    assert LIMIT - 1000 < len(text) <= LIMIT
    assert "\n21. T21\nhttps://a.example/21\nsearxng\nshort\n" in text
    assert re.search(r"\n\[Cut: snippets are cut at \d+ characters; a smaller k leaves more of each\.\]$", text)


def test_hits_that_do_not_fit_at_all_are_counted() -> None:
    """contract: MCP: what is left out is said."""
    text = search_text(envelope(*(hit(number, title="t" * 5000) for number in range(50))))
    assert len(text) <= LIMIT
    left = re.search(r"(\d+) of 50 hits are left out; ask for fewer with k\.\]$", text)
    assert left is not None
    assert len(re.findall(r"(?m)^\d+\. t", text)) == 50 - int(left[1])


def test_explained_answer_says_why_and_what_became_of_the_rest() -> None:
    """contract: MCP: `explain` is v1's argument, so its answer is shown."""
    why = [{"query": 1, "source": "searxng", "rank": 2, "share": 0.0161}]
    explain = {
        "sources": [{"source": "searxng", "query": 1, "outcome": "ok", "ms": 5, "hits": 9, "credits": 0}],
        "dropped": {"unusable": 0, "repeats": 3, "min_score": 0, "domains": 0, "beyond_k": 0},
        "credits": {"spent": 0, "saved": 0, "left": {}},
        "ms": {"total": 5, "sources": 4, "merge": 1},
    }
    text = search_text(envelope(hit(1, why=why, score=0.0161)) | {"explain": explain})
    assert "\nsearxng #2 → 0.0161\n" in text
    assert "dropped: 3 repeats" in text


def test_page_text_has_title_url_date_and_text() -> None:
    """contract: MCP: and its notes before them."""
    found = page_text(page("# One\n\nfirst", published_date="2026-09-28", warnings=["robots unreachable"]))
    assert found == "Note: robots unreachable\n\nOne\nhttps://a.example/one\n2026-09-28\n\n# One\n\nfirst"


def test_page_that_goes_on_says_where() -> None:
    """contract: MCP: what the service cut."""
    found = page_text(page("first", next_start=900, chars=5000), 100)
    assert found.endswith("first\n\n[Cut: the text has 5000 characters; start=900 reads on.]")


def test_page_beyond_the_limit_is_cut_where_it_can_be_read_on() -> None:
    """contract: MCP: no character is lost between two pieces."""
    whole = "\n".join(f"line {number}" for number in range(9000))
    found = page_text(page(whole, next_start=None) | {"next_start": 90_000}, 700)
    assert LIMIT - 1000 < len(found) <= LIMIT
    end = re.search(r"\n\n\[Cut: the text has \d+ characters; start=(\d+) reads on\.\]$", found)
    assert end is not None
    shown = found[: end.start()].partition("\n\n")[2]
    assert whole.startswith(shown + "\n")
    assert int(end[1]) == 700 + len(shown)


def test_page_cannot_pose_as_the_next_one_or_as_a_note() -> None:
    """contract: MCP: a list of a page's own moves by a blank, which Markdown does not mind."""
    bad = page("1. list\n\n2. Two\nhttps://b.example/\nNote: x\n[Cut: y.]\ntext 3. z")
    items = [{"index": 0, "url": "https://a.example/", "state": "ok", "result": bad}]
    text = batch_text(items, [], waited=1)
    assert text.endswith("\n\n 1. list\n\n 2. Two\nhttps://b.example/\n Note: x\n [Cut: y.]\ntext 3. z")


def test_page_of_short_lists_stays_within_the_limit() -> None:
    """contract: MCP: what is shown counts, and nothing of how to read on is lost."""
    found = page_text(page("1. \n" * 12_000))
    assert len(found) <= LIMIT
    assert re.search(r"start=\d+ reads on\.\]$", found)


def test_page_whose_end_is_not_shown_is_cut_before_it() -> None:
    """contract: MCP: control characters are no part of what is shown."""
    found = page_text(page("word\n" * 10_000 + "\u200e" * 30_000))
    assert len(found) <= LIMIT
    assert re.search(r"start=\d+ reads on\.\]$", found)


def test_pages_whose_addresses_alone_are_too_long_are_counted() -> None:
    """contract: MCP: what is left out is said, here too."""
    url = "https://a.example/" + "p" * 4000
    items = [{"index": n, "url": url, "state": "queued"} for n in range(100)]
    text = batch_text(items, [], waited=45)
    left = re.search(r"The last (\d+) are left out: ask for fewer at a time\.", text)
    assert left is not None
    assert text.count("Not ready yet.") == 100 - int(left[1])
    assert len(text) <= LIMIT


def test_page_without_text_says_so() -> None:
    """contract: MCP: an empty answer would look like a failure."""
    assert page_text(page("")).endswith("\n\nNo text.")
    assert page_text(page("", chars=90), 100).endswith("\n\nNo text from there on: it has 90 characters.")


def test_batch_text_is_in_the_order_of_the_request() -> None:
    """contract: MCP: with what failed, and what is not ready."""
    items = [
        {"index": 0, "url": "https://a.example/", "state": "ok", "result": page("text", title="A")},
        {"index": 1, "url": "https://b.example/", "state": "failed", "error": "fetch failed", "hint": "status 404"},
        {"index": 2, "url": "https://c.example/", "state": "running"},
        {"index": 3, "url": "https://d.example/", "state": "cancelled"},
    ]
    assert batch_text(items, ["unknown field ignored: x"], waited=45.2) == (
        "Note: unknown field ignored: x\n\n"
        "1 of 4 pages opened. 1 not ready after 45 s: call sift_batch again with their URLs.\n\n"
        "1. A\nhttps://a.example/one\n\ntext\n\n"
        "2. https://b.example/\nNot opened: the page could not be had: its host answered with status 404.\n\n"
        "3. https://c.example/\nNot ready yet.\n\n"
        "4. https://d.example/\nCancelled."
    )


@pytest.mark.parametrize("count", [3, 100])
def test_pages_of_a_batch_share_the_room(count: int) -> None:
    """contract: MCP: 40,000 characters for all, and each cut is said."""
    result = page("word " * 4000)
    items = [{"index": n, "url": f"https://a.example/{n}", "state": "ok", "result": result} for n in range(count)]
    items[0] |= {"result": page("short")}
    text = batch_text(items, [], waited=1)
    assert len(text) <= LIMIT
    assert text.count("reads on.]") == count - 1
    assert f"\n\n{count}. One\n" in text


@given(st.lists(st.integers(0, 500), max_size=20), st.integers(-50, 3000))
def test_level_fills_the_room_and_no_more(lengths: list[int], room: int) -> None:
    """contract: MCP: short texts leave their room to long ones."""
    most = level(lengths, room)
    taken = sum(min(length, most) for length in lengths)
    assert taken <= max(room, 0)
    if most < max(lengths, default=0):
        assert sum(min(length, most + 1) for length in lengths) > room
