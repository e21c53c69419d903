"""`POST /v1/search` on a real gunicorn."""

from __future__ import annotations

from pathlib import Path

from tests.service import Service
from tests.vendors import NAMES, Vendors


def test_search_all_sources_answer_one_list(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Search answer: keys in order; the hit that all sources found is first, with the sum of its shares."""
    with Service(tmp_path, vendors.environ) as service:
        first, second = service.search("some words"), service.search("some  words")
    assert list(first) == ["queries", "results", "sources_ok", "sources_failed", "warnings", "cached", "sizes"]
    assert first["results"][0] == {
        "url": "https://shared.example/page",
        "title": "Shared",
        "snippet": "Text.",
        "source": "searxng",
        "score": len(NAMES) / 62,
    }
    assert (first["cached"], second["cached"], second["queries"]) == (False, True, ["some  words"])
    assert first["sizes"] == {"hits": 2 * len(NAMES), "unique": 1 + len(NAMES), "results": 1 + len(NAMES)}
    assert len(vendors.seen) == len(NAMES)
