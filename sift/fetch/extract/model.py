"""What goes into an extractor and what comes out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Format = Literal["markdown", "text"]
Kind = Literal["trafilatura", "builtin", "plain", "pdf"]

HTML = frozenset({"text/html", "application/xhtml+xml"})
XML = frozenset({"application/xml", "text/xml", "application/rss+xml", "application/atom+xml"})
PDF = "application/pdf"

TIMEOUT = "extract: builtin fallback (timeout)"
MEMORY = "extract: builtin fallback (memory)"
NOT_INSTALLED = "extract: builtin fallback (not installed)"
LITTLE_TEXT = "extract: little text (the page may need JavaScript)"
PAGE_CUT = "page cut at 10 MiB"
WARNINGS = frozenset({TIMEOUT, MEMORY, NOT_INSTALLED, LITTLE_TEXT, PAGE_CUT})

MOST_PDF_PAGES = 200
MOST_CONTENT = 10 << 20
"""Bytes of UTF-8 that a content may have; longer ones are cut."""


def pdf_cut(pages: int) -> str:
    """Return the warning that only the first pages of a PDF were read."""
    return f"pdf: first {pages} pages"


@dataclass(frozen=True, slots=True)
class Document:
    """A body as it was fetched.

    body: bytes, decompressed. content_type: its essence, lower case, such as "text/html".
    charset: as HTTP declared it, "" when it did not. url: the final one, against which links are resolved.
    """

    body: bytes
    content_type: str
    charset: str
    url: str


@dataclass(frozen=True, slots=True)
class Extract:
    """The readable text of a document, and what the page says about itself ("" where it says nothing).

    extractor: what found the text. published_date: "YYYY-MM-DD". lang: a language tag, such as "en-GB".
    html: the readable part as cleaned HTML, when it was asked for and the extractor gives it.
    warnings: of the closed list in this module.
    """

    content: str
    extractor: Kind
    title: str = ""
    author: str = ""
    published_date: str = ""
    lang: str = ""
    description: str = ""
    html: str = ""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """What a robots.txt says to one agent: whether one URL may be fetched, and seconds between fetches if it says."""

    allowed: bool
    delay: float | None
