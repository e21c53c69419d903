"""The index: passages in an in-memory SQLite FTS5 table, searched by page."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable
from typing import NamedTuple

from sift.demo.documents import Passage
from sift.demo.query import Query

ENOUGH = 10  # pages that match the whole query; with fewer, partial matches fill the list


class Page(NamedTuple):
    """A page that was found, with its matching passages, best first."""

    passages: tuple[Passage, ...]
    score: float

    @property
    def best(self) -> Passage:
        """Return the passage whose address and title represent the page."""
        return self.passages[0]


class Index:
    """A full-text index over titles and texts of passages; safe to share between threads."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self._passages = tuple(passages)
        self._lock = threading.Lock()  # there is one connection: a second one would open another, empty database
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        # Contentless: the texts are stored once, in `_passages`, indexed by row id.
        self._database.execute(
            "CREATE VIRTUAL TABLE passage USING fts5(title, text, content='', tokenize='porter unicode61')"
        )
        self._database.executemany(
            "INSERT INTO passage(rowid, title, text) VALUES (?, ?, ?)",
            ((row, passage.title, passage.text) for row, passage in enumerate(self._passages)),
        )

    def close(self) -> None:
        """Close the database; the index cannot be searched any more."""
        self._database.close()

    def page(self, address: str) -> list[Passage]:
        """Return the passages of one page, in order; none if there is no such page."""
        return [passage for passage in self._passages if passage.page == address]

    def search(self, query: Query, *, title_weight: float, depth: int = 1) -> list[Page]:
        """Return the pages that match, best first.

        title_weight: the weight of a word in a title, relative to one in the text.
        depth: how many passages of a page add to its score: 1 favours the sharpest passage, more the broadest page.
        """
        pages: dict[str, Page] = {}
        for expression in query.expressions():
            found: dict[str, list[tuple[Passage, float]]] = {}
            for row, score in self._rows(expression, title_weight):
                passage = self._passages[row]
                if passage.page not in pages and query.holds_phrases(f"{passage.title}\n{passage.text}"):
                    found.setdefault(passage.page, []).append((passage, score))
            ranked = sorted(found.items(), key=lambda item: -sum(score for _, score in item[1][:depth]))
            pages |= {address: _page(matches, depth) for address, matches in ranked}
            if len(pages) >= ENOUGH:
                break
        return list(pages.values())

    def _rows(self, expression: str, title_weight: float) -> list[tuple[int, float]]:
        with self._lock:
            return self._database.execute(
                "SELECT rowid, -bm25(passage, ?, 1.0) AS score FROM passage WHERE passage MATCH ? ORDER BY score DESC",
                (title_weight, expression),
            ).fetchall()


def _page(found: list[tuple[Passage, float]], depth: int) -> Page:
    return Page(tuple(passage for passage, _ in found), sum(score for _, score in found[:depth]))
