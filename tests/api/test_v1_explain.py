"""`explain` on `POST /v1/search` (contract: Explain)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sift.app import create_app
from tests.fakes import FakeLedger, FakeSource, engine_of, out, page, services_of
from tests.service import Service
from tests.vendors import BODIES, NAMES, Vendors, hit, reply

PLAIN = ["queries", "results", "sources_ok", "sources_failed", "warnings", "cached", "sizes"]
SHARED, OWN = "https://shared.example/page", "https://own.example/{}"


def test_explain_stands_behind_sizes_with_its_keys_in_order() -> None:
    """contract: Explain: keys and their order, from the cache before Flask too; a plain answer has none of it."""
    engine = engine_of(FakeSource("a", out(page(1))), FakeSource("b", out(page(1))), ledger=FakeLedger({"b": 2}))
    client = create_app(services=services_of(engine)).test_client()
    fresh, cached = (json.loads(client.post("/v1/search", json={"query": "q", "explain": True}).data) for _ in "12")
    for answer in (fresh, cached):
        assert list(answer) == [*PLAIN, "explain"]
        assert list(answer["results"][0]) == ["url", "title", "snippet", "source", "score", "why", "copies"]
        assert list(answer["explain"]) == ["sources", "dropped", "credits", "ms"]
        assert list(answer["explain"]["dropped"]) == ["unusable", "repeats", "min_score", "domains", "beyond_k"]
        assert list(answer["explain"]["ms"]) == ["total", "sources", "merge"]
    assert (fresh["cached"], cached["cached"]) == (False, True)
    assert fresh["explain"]["credits"] == {"spent": 1, "saved": 0, "left": {"b": 1}}
    assert cached["explain"]["credits"] == {"spent": 0, "saved": 1, "left": {"b": 1}}
    assert list(client.post("/v1/search", json={"query": "q"}).get_json()) == PLAIN


def test_explain_accounts_for_every_row_that_vendors_sent(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Explain: on a real service: rows without a usable URL, under `min_score`, repeated, barred, cut off."""
    rows = 0
    for name in NAMES:
        hits = [
            hit(SHARED),
            hit(SHARED + "#part"),
            hit("ftp://no.example/"),
            hit("https://bad.example/x"),
            hit(OWN.format(name), score=0.1),
        ]
        rows += len(hits)
        vendors.behaviour[name] = reply(BODIES[name](hits))
    wanted: dict[str, Any] = {"explain": True, "k": 2, "min_score": 0.3, "exclude_domains": ["bad.example"]}
    with Service(tmp_path, vendors.environ) as service:
        answer = service.search("q", **wanted)
    dropped = answer["explain"]["dropped"]
    assert rows == len(answer["results"]) + sum(dropped.values())
    assert dropped == {"unusable": 3, "repeats": 7, "min_score": 1, "domains": 1, "beyond_k": 1}
    assert answer["results"][0]["copies"] == [SHARED + "#part"]
    assert [entry["rank"] for entry in answer["results"][0]["why"]] == [1] * len(NAMES)
    assert answer["explain"]["credits"]["spent"] == 1
    assert [entry["source"] for entry in answer["explain"]["sources"]] == list(NAMES)
    assert all(0 <= entry["ms"] <= answer["explain"]["ms"]["total"] for entry in answer["explain"]["sources"])
