"""Hits as text: four plain lines for a pipe, or laid out for a person at a terminal (contract: Command line)."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from sift.cli.explained import why
from sift.cli.terminal import Screen, printable

SNIPPET_LINES = 3
_MIN_WIDTH = 20  # columns; a narrower terminal has to wrap by itself
_NO_SNIPPET = "(no snippet)"


def for_pipe(hits: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield title, URL, snippet and the date if known, a line each, with a blank line between hits."""
    for number, hit in enumerate(hits):
        if number:
            yield ""
        yield _shown(hit, "title") or _shown(hit, "url")
        yield _shown(hit, "url")
        yield _shown(hit, "snippet") or _NO_SNIPPET  # never empty: a blank line would end the hit
        if date := _shown(hit, "published_date"):
            yield date


def for_terminal(hits: Sequence[dict[str, Any]], screen: Screen, *, full: bool, below: int = 0) -> list[str]:
    """Return numbered hits, wrapped to the screen: title, URL with source and date, and the start of the snippet.

    The snippet has fewer lines where that keeps the best hit on the screen.
    full: whether the whole snippet is shown. below: how many lines will follow the hits.
    """
    if full:
        return _listed(hits, screen, None)
    shown = _listed(hits, screen, SNIPPET_LINES)
    for lines in range(SNIPPET_LINES, 0, -1):
        fewer = _listed(hits, screen, lines)
        if len(fewer) + below <= screen.rows:
            return fewer
    return shown


def _listed(hits: Sequence[dict[str, Any]], screen: Screen, snippet_lines: int | None) -> list[str]:
    margin = len(str(len(hits))) + 2
    width = max(screen.width - margin, _MIN_WIDTH)
    listed = []
    for number, hit in enumerate(hits, 1):
        title = shortened(_shown(hit, "title") or _shown(hit, "url"), width, screen.ellipsis)
        listed += ["", f"{number}.".rjust(margin - 1) + " " + screen.bold(title)]
        below = (*_origin(hit, width, screen), *_snippet(hit, width, screen, snippet_lines), *why(hit, screen))
        listed += [" " * margin + line for line in below]
    return listed[1:]


def _origin(hit: dict[str, Any], width: int, screen: Screen) -> Iterator[str]:
    """Yield the URL, never cut so that it can be opened, with source and date behind it or else below."""
    url = _shown(hit, "url")
    about = ", ".join(filter(None, (_shown(hit, "source"), _shown(hit, "published_date"))))
    before, host, after = url.partition(urlsplit(url).netloc or url)
    coloured = before + screen.green(host) + after
    if columns(url) + 2 + columns(about) <= width:
        yield f"{coloured}  {screen.dim(about)}"
    else:
        yield coloured
        yield screen.dim(about)


def _snippet(hit: dict[str, Any], width: int, screen: Screen, most: int | None) -> Iterator[str]:
    """Yield the lines of a snippet, `most` of them at most."""
    lines = wrapped(_shown(hit, "snippet") or _NO_SNIPPET, width)
    *shown, last = islice(lines, most)
    yield from shown
    yield shortened(f"{last} {screen.ellipsis}", width, screen.ellipsis) if next(lines, None) else last


def wrapped(text: str, width: int) -> Iterator[str]:
    """Yield text in lines of at most `width` columns, broken at spaces, and within a word only if it is too long."""
    line = ""
    for word in text.split():
        joined = f"{line} {word}" if line else word
        if columns(joined) <= width:
            line = joined
            continue
        if line:
            yield line
        while columns(word) > width:
            head = _head(word, width)
            yield head
            word = word[len(head) :]
        line = word
    if line:
        yield line


def columns(text: str) -> int:
    """Return how many columns a terminal needs for a text: two for wide characters, none for combining ones."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _head(text: str, width: int) -> str:
    """Return as much of the start of a text as fits, and at least a character."""
    taken = used = 0
    for taken, character in enumerate(text):
        used += _columns(character)
        if used > width:
            return text[: max(taken, 1)]
    return text


def shortened(text: str, width: int, ellipsis: str) -> str:
    """Return a text, its end replaced by the ellipsis if it needs more than `width` columns."""
    if columns(text) <= width:
        return text
    return _head(text, width - len(ellipsis)).rstrip() + ellipsis


def _shown(hit: dict[str, Any], field: str) -> str:
    return printable(str(hit.get(field) or ""))
