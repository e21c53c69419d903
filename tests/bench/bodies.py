"""Answers of the loopback vendors: overlapping lists in the three wire formats, generated from a seed.

One URL in six has a spelling of its vendor's own, so that a gateway has to canonicalise URLs to see the overlap; one
text in six has tags and entities, so that it has to clean texts.
"""

from __future__ import annotations

import json
import random
from typing import Any, NamedTuple

_WORDS = (
    "agent search gateway latency cache merge ranking filter domain release notes kernel vector index tokenizer"
    " benchmark throughput worker thread pool timeout retry budget schema query result socket buffer parser module"
).split()
_SUFFIXES = ("com", "org", "net")
VENDORS = ("searxng", "brave", "tavily")
HITS = {"searxng": 30, "brave": 20, "tavily": 20}
_START = {"searxng": 0, "brave": 20, "tavily": 30}  # adjacent vendors share a third of their lists


class Document(NamedTuple):
    """A page that several vendors may list."""

    number: int
    host: str
    path: str
    title: str


def vendor_body(vendor: str, seed: int, *, hits: int = 0, shift: int = 0) -> bytes:
    """Return the complete answer of a vendor.

    seed: selects the set of documents. hits: the number of rows; 0: the vendor's usual number. shift: the offset into
    the set.
    """
    return json.dumps(_SHAPES[vendor](rows(vendor, seed, hits=hits, shift=shift)), separators=(",", ":")).encode()


def rows(vendor: str, seed: int, *, hits: int = 0, shift: int = 0) -> list[dict[str, Any]]:
    """Return the rows of a vendor's list, ranked."""
    first = _START[vendor] + shift
    numbers = list(range(first, first + (hits or HITS[vendor])))
    rng = random.Random(f"{vendor} {seed} {shift}")
    rng.shuffle(numbers)
    return [_ROWS[vendor](_document(seed, number), rank, rng) for rank, number in enumerate(numbers, 1)]


def _document(seed: int, number: int) -> Document:
    rng = random.Random(seed * 100_003 + number)
    host = f"{rng.choice(_WORDS)}{number % 23}.example.{rng.choice(_SUFFIXES)}"
    path = f"/{rng.choice(_WORDS)}/{'-'.join(rng.choices(_WORDS, k=4))}-{number}"
    if number % 7 == 3:
        path += f"?page={number}&lang=en"
    return Document(number, host, path, " ".join(rng.choices(_WORDS, k=8)).capitalize())


def _text(rng: random.Random, words: int) -> str:
    picked = rng.choices(_WORDS, k=words)
    if rng.random() < 1 / 6:
        picked[1], picked[3] = f"<b>{picked[1]}</b>", f"{picked[3]} &amp; more"
    return " ".join(picked)


def _url(document: Document, spelling: str = "") -> str:
    host, path = document.host, document.path
    if document.number % 4 == 1:
        if spelling == "tracked":
            return f"https://{host}{path}{'&' if '?' in path else '?'}utm_source=web&utm_medium=search"
        if spelling == "shouted":
            return f"https://{host.title()}:443{path}#section-2"
    if spelling == "escaped" and document.number % 20 == 7:
        return f"http://{host}{path.replace('-', '%2D', 1)}"
    return f"https://{host}{path}"


def _searxng_row(document: Document, rank: int, rng: random.Random) -> dict[str, Any]:
    date = f"2026-09-{1 + document.number % 28:02d}T00:00:00" if document.number % 3 == 0 else None
    return {
        "url": _url(document, "escaped"),
        "title": document.title,
        "content": _text(rng, 32),
        "publishedDate": date,
        "engine": "first",
        "template": "default.html",
        "parsed_url": ["https", document.host, document.path, "", "", ""],
        "img_src": "",
        "thumbnail": "",
        "priority": "",
        "engines": ["first", "second"],
        "positions": [rank, rank + 2],
        "score": round(4 / rank, 3),
        "category": "general",
    }


def _brave_row(document: Document, rank: int, rng: random.Random) -> dict[str, Any]:
    return {
        "url": _url(document, "tracked"),
        "title": document.title,
        "snippets": [_text(rng, 60) for _ in range(3)],
    }


def _tavily_row(document: Document, rank: int, rng: random.Random) -> dict[str, Any]:
    row: dict[str, Any] = {"url": _url(document, "shouted"), "title": document.title, "content": _text(rng, 90)}
    row |= {"score": round(0.99 - 0.01 * rank, 5), "raw_content": None}
    if document.number % 2 == 0:
        row["published_date"] = f"Tue, {1 + document.number % 28:02d} Sep 2026 10:00:00 GMT"
    return row


def _searxng(rows: list[dict[str, Any]]) -> dict[str, Any]:
    rest: dict[str, Any] = {name: [] for name in ("answers", "corrections", "infoboxes", "suggestions")}
    return {"query": "q", "number_of_results": 0, "results": rows, **rest, "unresponsive_engines": []}


def _brave(rows: list[dict[str, Any]]) -> dict[str, Any]:
    about = {row["url"]: {"title": row["title"], "hostname": "", "age": ["", "2026-09-01", "2 days"]} for row in rows}
    return {"grounding": {"generic": rows, "poi": None, "map": []}, "sources": about}


def _tavily(rows: list[dict[str, Any]]) -> dict[str, Any]:
    rest: dict[str, Any] = {"follow_up_questions": None, "answer": None, "images": [], "response_time": 0.9}
    return {"query": "q", "results": rows, **rest, "usage": {"credits": 1}, "request_id": "0" * 36}


_ROWS = {"searxng": _searxng_row, "brave": _brave_row, "tavily": _tavily_row}
_SHAPES = {"searxng": _searxng, "brave": _brave, "tavily": _tavily}
