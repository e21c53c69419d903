"""Brave LLM Context's format: broad pages first, several snippets per page; no filter is honoured."""

from __future__ import annotations

import time
import uuid
from urllib.parse import urlsplit

from sift.demo.index import Index
from sift.demo.query import parse_query
from sift.demo.standin import Request, StandIn

MAX_QUERY = 400
MAX_QUERY_WORDS = 50
MAX_PAGES = 20
MAX_SNIPPETS = 4


def answer(index: Index, request: Request) -> tuple[int, object]:
    """Answer a search."""
    if not request.headers.get("x-subscription-token"):
        return _invalid("missing", ["header", "x-subscription-token"])
    text = request.parameters.get("q", "")
    if not text.strip():
        return _invalid("missing" if "q" not in request.parameters else "string_too_short", ["query", "q"])
    if len(text) > MAX_QUERY or len(text.split()) > MAX_QUERY_WORDS:
        return _invalid("string_too_long", ["query", "q"])
    pages = index.search(parse_query(text), title_weight=1.0, depth=MAX_SNIPPETS)[:MAX_PAGES]
    return 200, {
        "grounding": {
            "generic": [
                {
                    "url": page.best.url,
                    "title": page.best.title,
                    "snippets": [passage.text for passage in page.passages[:MAX_SNIPPETS]],
                }
                for page in pages
            ],
            "map": [],
        },
        "sources": {
            page.best.url: {"title": page.best.title, "hostname": urlsplit(page.best.url).hostname, "age": None}
            for page in pages
        },
    }


STAND_IN = StandIn("GET", "/res/v1/llm/context", answer)


def _invalid(kind: str, place: list[str]) -> tuple[int, object]:
    error = {
        "id": str(uuid.uuid4()),
        "status": 422,
        "code": "VALIDATION",
        "detail": "a parameter is not as it should be",
        "meta": {"errors": [{"type": kind, "loc": place, "msg": kind.replace("_", " ")}]},
    }
    return 422, {"type": "ErrorResponse", "error": error, "time": int(time.time())}
