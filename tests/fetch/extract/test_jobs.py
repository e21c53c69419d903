"""What a child does with a job (contract: Page text)."""

from __future__ import annotations

import pytest

from sift.fetch.extract.frames import Frame
from sift.fetch.extract.jobs import cut, prepare, to_frame
from sift.fetch.extract.model import MOST_CONTENT, PAGE_CUT, Extract


def test_longest_text_is_left_alone_and_a_longer_one_cut_behind_a_block() -> None:
    """contract: Page text. Links that are made absolute can make a page longer than it came; the cut is said."""
    fits = "x" * MOST_CONTENT
    assert cut(fits) == (fits.encode(), False)
    blocks = "word\n\n" * (MOST_CONTENT // 6 + 1)
    data, is_cut = cut(blocks)
    assert is_cut
    assert data.endswith(b"word")
    assert MOST_CONTENT - 6 <= len(data) <= MOST_CONTENT
    frame = to_frame(Extract(blocks, "builtin", warnings=("a",)))
    assert frame.header["warnings"] == ("a", PAGE_CUT)


def test_text_is_never_cut_within_a_character() -> None:
    """contract: Page text. What is left can be read."""
    data, is_cut = cut("\N{GREEK SMALL LETTER ALPHA}" * MOST_CONTENT)
    assert is_cut
    assert set(data.decode()) == {"\N{GREEK SMALL LETTER ALPHA}"}


def test_html_that_is_too_long_is_left_out() -> None:
    """contract: Scrape. Half of it would be broken."""
    frame = to_frame(Extract("x", "trafilatura", html="<b>" * MOST_CONTENT))
    assert (frame.first, frame.second, frame.header["warnings"]) == (b"x", b"", ())


def test_answer_has_the_texts_in_its_bodies_and_the_rest_in_its_header() -> None:
    """contract: Page text. The header stays small."""
    frame = to_frame(Extract("text", "plain", title="T", html="<p>"))
    assert (frame.first, frame.second) == (b"text", b"<p>")
    assert (frame.header["title"], frame.header["content"], frame.header["html"]) == ("T", "", "")


def test_job_without_its_fields_is_an_error() -> None:
    """contract: Page text. Jobs come from the service itself; a wrong one ends the child."""
    with pytest.raises(KeyError):
        prepare(Frame({}), 1)
