"""Parsed queries: words, quoted phrases and sites. Pure; user text never reaches SQLite unquoted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

MAX_WORDS = 32  # so that a pasted page costs no more than a sentence

_TOKEN = re.compile(r'"[^"]*"|\S+')
_WORD = re.compile(r"[^\W_]+")  # words as FTS5's unicode61 splits them, at underscores too


@dataclass(frozen=True, slots=True)
class Site:
    """A host with its subdomains, and optionally a path prefix."""

    host: str
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> Site:
        """Parse `host`, `*.host` or `host/path`."""
        host, slash, path = text.partition("/")
        return cls(host.lower().removeprefix("*.").strip("."), slash + path)

    def covers(self, url: str) -> bool:
        """Return whether the URL is on this site."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        return (host == self.host or host.endswith("." + self.host)) and parts.path.startswith(self.path)


@dataclass(frozen=True, slots=True)
class Query:
    """The words, phrases and sites of one query."""

    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    sites: tuple[Site, ...] = ()

    def expressions(self) -> tuple[str, ...]:
        """Return FTS5 expressions to try in turn: everything; then the phrases alone, or any word."""
        phrases = [f'"{phrase}"' for phrase in self.phrases]
        words = [f'"{word}"' for word in self.words]
        if not phrases and not words:
            return ()
        return " AND ".join(phrases + words), " AND ".join(phrases) or " OR ".join(words)

    def holds_phrases(self, text: str) -> bool:
        """Return whether the text contains each phrase verbatim: the index alone would match any inflection."""
        return all(re.search(rf"(?i)(?<![^\W_]){_adjoined(phrase)}(?![^\W_])", text) for phrase in self.phrases)

    def position(self, text: str) -> tuple[int, bool]:
        """Return the best position to quote from, and whether all the words are adjacent there."""
        words = " ".join((*self.phrases, *self.words)).split()
        lower = text.lower()
        together = re.search(_adjoined(" ".join(words)), lower)
        if together:
            return together.start(), True
        return min((place for place in map(lower.find, words) if place >= 0), default=0), False


def parse_query(text: str, *, phrases: bool = False, sites: bool = False) -> Query:
    """Parse a query; quotes and `site:` are plain text unless the vendor interprets them."""
    found_words: dict[str, None] = {}
    found_phrases: dict[str, None] = {}
    found_sites = []
    for token in _TOKEN.findall(text):
        bare = token.strip("()")
        words = _WORD.findall(token.lower())
        if sites and bare[:5].lower() == "site:" and len(bare) > 5:
            found_sites.append(Site.parse(bare[5:]))
        elif sites and bare == "OR":
            continue
        elif phrases and token[0] == token[-1] == '"' and words:
            found_phrases[" ".join(words)] = None
        else:
            found_words.update(dict.fromkeys(words))
    return Query(tuple(found_words)[:MAX_WORDS], tuple(found_phrases)[:MAX_WORDS], tuple(found_sites))


def excerpt(text: str, query: Query, size: int) -> str:
    """Return at most `size` characters of the text around the best position, cut at spaces."""
    start = max(0, query.position(text)[0] - size // 4)
    if start:
        start = text.find(" ", start) + 1
    quoted = text[start : start + size]
    if start + size < len(text):
        quoted = quoted.rpartition(" ")[0] or quoted
    return " ".join(quoted.split())


def _adjoined(words: str) -> str:
    """Return a pattern for these words with only punctuation and spaces between; the last may be a prefix."""
    return r"[\W_]+".join(map(re.escape, words.split()))
