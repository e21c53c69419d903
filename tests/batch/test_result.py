"""What a worker stores of a page, and what comes of it (contract: Batch, Batch scrape)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.batch.model import Claim
from sift.batch.result import WITH_HTML, answer_of, encode, read, wanted
from sift.fetch.answer import envelope
from sift.fetch.model import FetchRequest
from tests.api.fetching import URL, page


def claim(**changes: Any) -> Claim:
    fields: dict[str, Any] = {
        "batch": "b",
        "index": 0,
        "url": URL,
        "host": "h",
        "caller": "ann",
        "cls": "fleet",
        "format": "text",
        "max_chars": 1000,
        "max_age": 5.0,
        "attempt": 1,
        "lease": "l",
        "seconds": 900.0,
        **changes,
    }
    return Claim(**fields)


def test_claim_is_a_fetch_within_the_time_of_its_batch() -> None:
    assert wanted(claim()) == FetchRequest(URL, "text", 1000, max_age=5.0)
    assert wanted(claim(seconds=2.5)).timeout == 2.5
    assert wanted(claim(format=WITH_HTML)) == FetchRequest(URL, "markdown", 1000, max_age=5.0, html=True)


def test_result_is_the_answer_of_a_fetch_with_the_url_of_its_place() -> None:
    """contract: Batch: byte for byte what `POST /v1/fetch` answers, but for the URL."""
    request = wanted(claim(format="markdown"))
    stored = encode(request, page(), is_cached=True)
    answer = json.loads(answer_of(stored, 'https://other.com/"ü'))
    assert list(answer.items()) == list(
        {**json.loads(json.dumps(envelope(request, page(), is_cached=True))), "url": 'https://other.com/"ü'}.items()
    )
    assert URL.encode() not in answer_of(stored, "x").replace(page().url.encode(), b"")


@pytest.mark.parametrize(("html", "description", "lines"), [("<p>", "d", 2), ("", "d", 2), ("<p>", "", 2), ("", "", 1)])
def test_second_line_is_there_when_there_is_more_to_give(html: str, description: str, lines: int) -> None:
    stored = encode(FetchRequest(URL, html=True), page(html=html, description=description), is_cached=False)
    assert len(stored.splitlines()) == lines
    assert read(stored)[1:] == (description, html)


def test_html_is_kept_when_it_is_wanted() -> None:
    assert read(encode(FetchRequest(URL), page(html="<p>"), is_cached=False)).html == ""


@given(st.text(), st.text(), st.text())
def test_any_text_comes_back(content: str, description: str, html: str) -> None:
    """contract: Page text: cleaned text has no lone surrogates; anything else is kept as it is."""
    text = page(content=content, description=description, html=html)
    found = read(encode(FetchRequest(URL, max_chars=200_000, html=True), text, is_cached=False))
    assert (found.page["content"], found.description, found.html) == (content, description, html)
