"""What a query asks for: words, quoted phrases and sites. Pure; user text never reaches SQLite unquoted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

MAX_WORDS = 32  # a pasted page costs no more than a sentence

_TOKEN = re.compile(r'"[^"]*"|\S+')
_WORD = re.compile(r"[^\W_]+")  # as FTS5's unicode61 sees words: no underscore


@dataclass(frozen=True, slots=True)
class Site:
    """Stand for a host with its subdomains, and maybe the start of a path."""

    host: str
    path: str = ""

    @classmethod
    def parse(cls, text: str) -> Site:
        """Read `host`, `*.host` or `host/path`."""
        host, slash, path = text.partition("/")
        return cls(host.lower().removeprefix("*.").strip("."), slash + path)

    def covers(self, url: str) -> bool:
        """Tell whether the URL is on this site."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        return (host == self.host or host.endswith("." + self.host)) and parts.path.startswith(self.path)


@dataclass(frozen=True, slots=True)
class Query:
    """Hold what one query asks for."""

    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    sites: tuple[Site, ...] = ()

    def expressions(self) -> tuple[str, ...]:
        """Return FTS5 expressions to ask in turn: everything; then the phrases alone, or any word."""
        phrases = [f'"{phrase}"' for phrase in self.phrases]
        words = [f'"{word}"' for word in self.words]
        if not phrases and not words:
            return ()
        return " AND ".join(phrases + words), " AND ".join(phrases) or " OR ".join(words)

    def holds_phrases(self, text: str) -> bool:
        """Tell whether the text holds each phrase word for word: the index alone would take any inflection."""
        return all(re.search(rf"(?i)(?<![^\W_]){_adjoined(phrase)}(?![^\W_])", text) for phrase in self.phrases)

    def position(self, text: str) -> tuple[int, bool]:
        """Find the best place to quote from, and tell whether all the words stand there side by side."""
        words = " ".join((*self.phrases, *self.words)).split()
        lower = text.lower()
        together = re.search(_adjoined(" ".join(words)), lower)
        if together:
            return together.start(), True
        return min((place for place in map(lower.find, words) if place >= 0), default=0), False


def parse_query(text: str, *, phrases: bool = False, sites: bool = False) -> Query:
    """Read a query; quotes and `site:` are plain text where the vendor takes them so."""
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
    """Quote at most `size` characters of the text round the best place, cut at blanks."""
    start = max(0, query.position(text)[0] - size // 4)
    if start:
        start = text.find(" ", start) + 1
    quoted = text[start : start + size]
    if start + size < len(text):
        quoted = quoted.rpartition(" ")[0] or quoted
    return " ".join(quoted.split())


def _adjoined(words: str) -> str:
    """Make the pattern of these words with nothing but punctuation and blanks between, the last open to an ending."""
    return r"[\W_]+".join(map(re.escape, words.split()))
