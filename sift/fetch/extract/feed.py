"""RSS and Atom: the entries of a feed with title, link, day and summary. Other XML stays as it is."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from xml.parsers import expat

from sift.fetch.extract import builtin, hygiene, plain
from sift.fetch.extract.links import Links
from sift.fetch.extract.model import TIMEOUT, Extract, Format

_FEED = re.compile(r"<(?:[A-Za-z0-9]{1,20}:)?(rss|feed|RDF)[\s>]")
_XHTML = re.compile(r"<html[\s>]", re.IGNORECASE)
_HEAD = 2048
_ENTRIES = frozenset(("item", "entry"))
_SUMMARIES = ("description", "summary", "encoded", "content")
_DAYS = ("pubDate", "published", "date", "updated")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


class NoFeedError(Exception):
    """The text is no feed that can be read."""


@dataclass(slots=True)
class _Entry:
    texts: dict[str, str] = field(default_factory=dict)
    link: str = ""


def is_html(text: str) -> bool:
    """Return whether XML is a page after all."""
    return _XHTML.search(text[:_HEAD]) is not None


def extract(
    text: str,
    url: str,
    format: Format,
    *,
    clock: Callable[[], float] = time.monotonic,
    seconds: float = builtin.MOST_SECONDS,
) -> Extract:
    """Return the entries of a feed, or the text as it is when it is none.

    url: the feed's own. seconds: after which the entries so far have to do.
    """
    ends = clock() + seconds
    if not _FEED.search(text[:_HEAD]):
        return plain.extract(text)
    try:
        reader = _Reader()
        reader.read(text)
    except NoFeedError:
        return plain.extract(text)
    links = Links(url)
    parts: list[str] = []
    for entry in reader.entries:
        if clock() > ends:
            break
        parts.append(_written(entry, links, format))
    warnings = (TIMEOUT,) if len(parts) < len(reader.entries) else ()
    content = "\n\n".join(filter(None, parts))
    content = hygiene.markdown(content) if format == "markdown" else hygiene.verbatim(content)
    title = hygiene.line(_as_line(reader.feed.texts.get("title", "")), 1000)
    return Extract(content, "plain", title=title, description=_description(reader.feed), warnings=warnings)


def _description(feed: _Entry) -> str:
    return hygiene.line(_as_line(feed.texts.get("description") or feed.texts.get("subtitle") or ""), 5000)


def _written(entry: _Entry, links: Links, format: Format) -> str:
    title = hygiene.line(_as_line(entry.texts.get("title", "")), 1000) or "(no title)"
    link = links.absolute(entry.link or entry.texts.get("link") or "")
    day = next(filter(None, (_day(entry.texts.get(name, "")) for name in _DAYS)), "")
    summary = next((entry.texts[name] for name in _SUMMARIES if entry.texts.get(name, "").strip()), "")
    head = [f"## {title}" if format == "markdown" else title, *filter(None, (day, link))]
    return "\n\n".join(("\n".join(head), builtin.extract(summary, link, format).content)).strip()


def _as_line(markup: str) -> str:
    return builtin.extract(markup, "", "text").content


def _day(text: str) -> str:
    text = text.strip()
    if _DAY.match(text):
        return text[:10]
    try:
        return parsedate_to_datetime(text).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


class _Reader:
    """Reads a feed as a stream. A feed that declares entities is none: they are how XML is made to grow."""

    def __init__(self) -> None:
        self.feed = _Entry()
        self.entries: list[_Entry] = []
        self._open: list[str] = []
        self._in_entry = 0
        self._text: list[str] = []
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append
        self._parser.EntityDeclHandler = self._refuse

    def read(self, text: str) -> None:
        """Read the whole of a feed, or as much as is well formed. Raises NoFeedError."""
        try:
            self._parser.Parse(text.encode(), True)
        except expat.ExpatError:
            if not self.entries:
                raise NoFeedError from None

    def _refuse(self, *_: object) -> None:
        raise NoFeedError

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if name in _ENTRIES:
            self.entries.append(_Entry())
            self._in_entry += 1
        elif name == "link" and attributes.get("href") and attributes.get("rel", "alternate") == "alternate":
            entry = self._entry()
            entry.link = entry.link or attributes["href"]
        self._open.append(name)
        self._text.clear()

    def _end(self, name: str) -> None:
        name = name.rpartition(":")[2]
        self._open.pop()
        parent = self._open[-1] if self._open else ""
        if parent in _ENTRIES or parent in ("channel", "feed"):
            self._entry().texts.setdefault(name, "".join(self._text))
        self._in_entry -= name in _ENTRIES
        self._text.clear()

    def _entry(self) -> _Entry:
        return self.entries[-1] if self._in_entry else self.feed
