"""What a page declares about itself: title, author, date of publication, language, description. Nothing is guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any, TypedDict

from sift.fetch.extract import hygiene

_LONGEST_JSON = 256 << 10
_TITLES = ("og:title", "dc.title", "dcterms.title", "citation_title", "twitter:title")
_AUTHORS = ("author", "article:author", "dc.creator", "dcterms.creator", "citation_author", "parsely-author")
_DESCRIPTIONS = ("description", "og:description", "dc.description", "dcterms.description", "twitter:description")
# `date` comes last: it may also be that of a change.
_DATES = (
    *("article:published_time", "og:published_time", "datepublished", "citation_publication_date", "citation_date"),
    *("dcterms.issued", "dc.date.issued", "dc.date.created", "dcterms.created", "parsely-pub-date", "sailthru.date"),
    *("pubdate", "publish-date", "publishdate", "publication_date", "dc.date", "dcterms.date", "date"),
)
_WANTED = frozenset((*_TITLES, *_AUTHORS, *_DESCRIPTIONS, *_DATES, "og:locale", "content-language"))
_DATE = re.compile(r"\s*([0-9]{4})([-/]?)([0-9]{2})\2([0-9]{2})(?![0-9])", re.ASCII)
_LANG = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]{2,8}){0,3}", re.ASCII | re.IGNORECASE)
_ARTICLE = re.compile(r"Article|Posting|Report|Document$", re.ASCII)
_PAGE = re.compile(r"Page$|CreativeWork$|Book$|Dataset$|Recipe$|VideoObject$", re.ASCII)


class Metadata(TypedDict):
    """The fields of an extract that come from the page's own declarations; "" for what it does not declare."""

    title: str
    author: str
    published_date: str
    lang: str
    description: str


class Declarations:
    """Collects declarations in the order in which a page makes them; for each thing, the first one counts."""

    def __init__(self) -> None:
        self._meta: dict[str, str] = {}
        self._title = ""
        self._heading = ""
        self._lang = ""
        self._time = ""
        self._works: list[dict[str, Any]] = []

    def meta(self, attributes: Mapping[str, str | None]) -> None:
        """Take a `meta` element, or any other with `itemprop` and `content`."""
        content = attributes.get("content") or ""
        for key in ("property", "name", "itemprop", "http-equiv"):
            name = (attributes.get(key) or "").strip().lower()
            if name in _WANTED and content.strip():
                self._meta.setdefault(name, content)

    def title(self, text: str) -> None:
        """Take the text of the `title` element."""
        self._title = self._title or text.strip()

    def heading(self, text: str) -> None:
        """Take the text of an `h1` element."""
        self._heading = self._heading or text.strip()

    def language(self, tag: str | None) -> None:
        """Take the `lang` of the `html` element."""
        self._lang = self._lang or (tag or "").strip()

    def time(self, attributes: Mapping[str, str | None]) -> None:
        """Take a `time` element, which counts when it says that it is the date of publication."""
        if "pubdate" in attributes or "datepublished" in (attributes.get("itemprop") or "").lower().split():
            self._time = self._time or (attributes.get("datetime") or "")

    def json_ld(self, text: str) -> None:
        """Take the text of a `script` element of type application/ld+json."""
        if len(text) > _LONGEST_JSON:
            return
        try:
            self._works += _works(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            return

    def metadata(self) -> Metadata:
        """Return what was declared."""
        return Metadata(
            title=hygiene.line(self._first(_TITLES) or self._title or self._heading, 1000),
            author=hygiene.line(self._author(), 1000),
            published_date=self._date(),
            lang=self._language(),
            description=hygiene.line(self._first(_DESCRIPTIONS), 5000),
        )

    def _first(self, names: tuple[str, ...]) -> str:
        return next((self._meta[name] for name in names if name in self._meta), "")

    def _author(self) -> str:
        named = (self._meta[name] for name in _AUTHORS if name in self._meta)
        author = next((each for each in named if "://" not in each), "")
        return author or next(filter(None, (_names(work.get("author")) for work in self._ranked())), "")

    def _date(self) -> str:
        works = (work.get("datePublished") for work in self._ranked())
        declared = [*(self._meta.get(name) for name in _DATES[:3]), *works, self._time]
        declared += [self._meta.get(name) for name in _DATES[3:]]
        return next(filter(None, map(_day, declared)), "")

    def _ranked(self) -> Iterator[dict[str, Any]]:
        """Yield what JSON-LD describes, if it is the page: articles first; a list of teasers describes others."""
        for pattern in (_ARTICLE, _PAGE):
            found = [work for work in self._works if _is(work, pattern)]
            if len({str(work.get("datePublished")) for work in found}) == 1:
                yield found[0]

    def _language(self) -> str:
        for tag in (self._lang, self._first(("content-language", "og:locale"))):
            if _LANG.fullmatch(tag):
                return tag.replace("_", "-")
        return ""


def _works(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects at the top of a JSON-LD document, its lists and its graph."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            yield item
            graph = item.get("@graph")
            yield from (each for each in graph if isinstance(each, dict)) if isinstance(graph, list) else ()


def _is(work: dict[str, Any], pattern: re.Pattern[str]) -> bool:
    types = work.get("@type")
    return any(
        isinstance(each, str) and pattern.search(each) for each in (types if isinstance(types, list) else [types])
    )


def _names(author: Any) -> str:
    """Return the names in the `author` of a JSON-LD object."""
    each = author if isinstance(author, list) else [author]
    names = [person.get("name") if isinstance(person, dict) else person for person in each[:20]]
    return ", ".join(name.strip() for name in names if isinstance(name, str) and name.strip() and "://" not in name)


def _day(value: Any) -> str:
    """Return the day that a date or a time begins with, as YYYY-MM-DD, "" if it names none."""
    match = _DATE.match(value) if isinstance(value, str) else None
    if not match:
        return ""
    try:
        return date(int(match[1]), int(match[3]), int(match[4])).isoformat()
    except ValueError:
        return ""
