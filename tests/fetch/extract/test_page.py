"""HTML: which extractor gets it, and what is said about that (contract: Page text)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from sift.fetch.extract.model import LITTLE_TEXT, MEMORY, NOT_INSTALLED, Extract
from sift.fetch.extract.page import extract, has_little
from tests.fetch.extract.samples import html

FOUND = Extract("found " * 50, "trafilatura")


class Readable:
    """Stands in for trafilatura: returns or raises the same for any page."""

    def __init__(self, outcome: Extract | BaseException | None) -> None:
        self._outcome = outcome
        self.texts: list[str] = []

    def extract(self, text: str, url: str, format: str, *, html: bool) -> Extract | None:
        """Return or raise the outcome."""
        self.texts.append(text)
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome

    @staticmethod
    def detect(body: bytes) -> Sequence[str]:
        """Take anything for Russian."""
        return ["cp1251"]


def run(readable: Any, markup: str | bytes = "<p>text", **options: Any) -> Extract:
    return extract(html(markup), "markdown", html=False, readable=readable, **options)


def test_trafilatura_comes_first() -> None:
    """contract: Page text. Its extract is taken as it is."""
    assert run(Readable(FOUND)) == FOUND


@pytest.mark.parametrize("outcome", [None, ValueError(), KeyError("x")])
def test_builtin_extractor_is_next_when_it_finds_nothing(outcome: Exception | None) -> None:
    """contract: Page text. `extractor` says so; none of the warnings would be true."""
    found = run(Readable(outcome))
    assert (found.content, found.extractor, found.warnings) == ("text", "builtin", ())


def test_page_deeper_than_the_stack_is_out_of_memory() -> None:
    """contract: Page text. The stack is memory."""
    found = run(Readable(RecursionError()))
    assert (found.extractor, found.warnings) == ("builtin", (MEMORY,))


def test_memory_that_runs_out_is_no_matter_of_this_process() -> None:
    """contract: Page text. Nothing can be relied on any more, so the child ends."""
    with pytest.raises(MemoryError):
        run(Readable(MemoryError()))


def test_memory_that_ran_out_unnoticed_is_one_that_ran_out() -> None:
    """contract: Page text. trafilatura takes it for a page without text, and an agent must not."""
    with pytest.raises(MemoryError):
        run(Readable(None), is_starved=lambda: True)
    assert run(Readable(FOUND), is_starved=lambda: True) == FOUND


def test_extra_that_is_missing_is_said() -> None:
    """contract: Page text. The builtin extractor is what a plain installation has."""
    found = run(None)
    assert (found.content, found.extractor, found.warnings) == ("text", "builtin", (NOT_INSTALLED,))


def test_builtin_extractor_is_taken_when_asked_for() -> None:
    """contract: Page text. After trafilatura has cost a child its life."""
    readable = Readable(FOUND)
    found = run(readable, is_builtin=True)
    assert (found.extractor, found.warnings, readable.texts) == ("builtin", (), [])


def test_encoding_is_detected_when_nothing_declares_it() -> None:
    """contract: Page text. By what trafilatura brings."""
    readable = Readable(FOUND)
    run(readable, b"\xec\xe8\xf0!")
    assert readable.texts == ["мир!"]


SCRIPT = "<script src=/app.js></script>"


@pytest.mark.parametrize(
    ("content", "markup", "little"),
    [
        ("", f"<div id=root></div>{SCRIPT}", True),
        ("Loading", f"<div>Loading</div>{SCRIPT}", True),
        ("x" * 199, SCRIPT, True),
        ("x" * 200, SCRIPT, False),
        ("[x](https://site.example/" + "y" * 300 + ")", SCRIPT, True),
        ("- - - " * 100, SCRIPT, True),
        ("Short", "<p>Short", False),
        ("Short", '<script type="application/ld+json">{}</script>', False),
        ("", "", False),
    ],
)
def test_little_text_is_said_of_pages_that_run_scripts(content: str, markup: str, *, little: bool) -> None:
    """contract: Page text. Next to no text, and scripts that may write it; a short page without any is just short."""
    assert has_little(content, markup) is little


def test_little_text_is_a_warning() -> None:
    """contract: Page text. An agent learns that it has not seen what a reader would."""
    assert run(Readable(None), f"<div id=root></div>{SCRIPT}").warnings == (LITTLE_TEXT,)
