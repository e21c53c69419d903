"""The extractors that are compared: each a function from a page's HTML to its text."""

from __future__ import annotations

from collections.abc import Callable

URL = "https://pages.example/docs/page.html"
Extractor = Callable[[str], str]


def trafilatura_here() -> Extractor:
    """Return trafilatura as Sift uses it."""
    from sift.fetch.extract import readable

    def extract(html: str) -> str:
        found = readable.extract(html, URL, "markdown")
        return found.content if found else ""

    return extract


def trafilatura_plain() -> Extractor:
    """Return trafilatura as its manual uses it first."""
    from trafilatura import extract

    return lambda html: extract(html) or ""


def builtin() -> Extractor:
    """Return Sift's builtin extractor."""
    from sift.fetch.extract import builtin

    return lambda html: builtin.extract(html, URL, "markdown").content


def resiliparse() -> Extractor:
    """Return resiliparse's main text."""
    from resiliparse.extract.html2text import extract_plain_text

    return lambda html: str(extract_plain_text(html, main_content=True))


def readability() -> Extractor:
    """Return the text of readability-lxml's summary."""
    from lxml.html import fromstring
    from readability import Document

    return lambda html: str(fromstring(Document(html).summary()).text_content())


EXTRACTORS: dict[str, Callable[[], Extractor]] = {
    "trafilatura here": trafilatura_here,
    "trafilatura": trafilatura_plain,
    "builtin": builtin,
    "resiliparse": resiliparse,
    "readability-lxml": readability,
}
