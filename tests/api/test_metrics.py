"""`GET /metrics` and `GET /readyz`, without a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sift import __version__
from sift.app import build_services, create_app
from sift.auth.caller import Caller
from sift.config import Config, SourceConfig
from sift.errors import SourceError
from sift.metrics.observer import Metrics
from sift.metrics.scrapes import MISSING, Scrapes
from sift.search.model import SearchRequest
from tests.fakes import FakeSource, engine_of, out, page, services_of
from tests.metrics.scraping import total, value

FLEET = {"Authorization": "Bearer fleet"}
CALLERS = {"Bearer fleet": Caller("a", "fleet"), "Bearer restricted": Caller("b", "restricted")}


def client(scrape: Callable[[], tuple[bytes, str] | None] | None, why: str = "") -> Any:
    """Return a client of a service with these metrics."""
    services = services_of(engine_of(FakeSource("s1", out(page(1)))), callers=CALLERS)
    return create_app(services=replace(services, scrape=scrape, why_no_metrics=why)).test_client()


def test_metrics_are_for_the_fleet() -> None:
    """contract: Metrics: 401 without a key, 403 for a restricted one, whether there are metrics or not."""
    for scrape in (None, lambda: (b"x 1\n", "text/plain")):
        asked = client(scrape)
        assert asked.get("/metrics").status_code == 401
        refused = asked.get("/metrics", headers={"Authorization": "Bearer restricted"})
        assert (refused.status_code, refused.get_json()) == (403, {"error": "forbidden", "hint": "class"})
        assert asked.post("/metrics", headers=FLEET).status_code == 405


def test_metrics_are_answered_as_they_are() -> None:
    """contract: Metrics: with the type that tells Prometheus the format."""
    answer = client(lambda: (b"x 1\n", "text/plain; version=0.0.4; charset=utf-8")).get("/metrics", headers=FLEET)
    assert (answer.status_code, answer.data) == (200, b"x 1\n")
    assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"


def test_metrics_without_the_extra_are_a_404_that_names_it() -> None:
    """contract: Metrics: whoever set Prometheus up learns what is missing; who switched it off needs no advice."""
    wanted = Scrapes(["a"], wanted=True, is_installed=False)
    unwanted = Scrapes(["a"], wanted=False, is_installed=True)
    assert (wanted.observers, wanted.bound_to(dict), wanted.why_none) == ((), None, MISSING)
    assert (unwanted.observers, unwanted.bound_to(dict), unwanted.why_none) == ((), None, "")
    assert "sift-gateway[metrics]" in MISSING
    for why in (MISSING, ""):
        answer = client(None, why).get("/metrics", headers=FLEET)
        assert (answer.status_code, answer.get_json()) == (404, {"error": "not found", "hint": why})


def test_metrics_that_cannot_be_had_are_a_503(tmp_path: Path) -> None:
    """contract: Metrics: nowhere to count, or somebody removed the files: searches go on."""
    scrapes = Scrapes(["a"], wanted=True, is_installed=True)
    scrape = scrapes.bound_to(dict)
    assert scrape is not None
    assert scrape() is None
    scrapes.begin(tmp_path, 0)
    assert scrape() is not None
    for path in tmp_path.iterdir():
        path.unlink()
    tmp_path.rmdir()
    assert scrape() is None
    answer = client(scrape).get("/metrics", headers=FLEET)
    assert (answer.status_code, answer.get_json()) == (503, {"error": "metrics unavailable", "hint": ""})


def settings(path: Path, **more: Any) -> Config:
    source = SourceConfig("searxng", "http://127.0.0.1:1/")
    capped = SourceConfig("tavily", "http://127.0.0.1:1/", "k", daily_cap=5)
    return Config((source, capped), path, path / "keys.json", auth=False, **more)


def test_wiring_counts_searches_caches_and_refusals(tmp_path: Path) -> None:
    """contract: Metrics: every part reports to the one observer; the credits are the ledger's."""
    services = build_services(settings(tmp_path / "state"))
    services.begin_metrics(tmp_path, 0)
    assert services.scrape is not None
    services.engine.search(SearchRequest(("q",)), "fleet")
    services.refused("192.0.2.1")
    scraped = services.scrape()
    services.close()
    assert scraped is not None
    body = scraped[0]
    assert value(body, "sift_searches_total", caller_class="fleet", cache="miss", status="503") == 1
    assert total(body, "sift_source_calls_total", outcome="unreachable") == 2
    assert total(body, "sift_auth_failures_total") == 1
    assert value(body, "sift_credits_limit", source="tavily") == 5
    assert value(body, "sift_credits_used", source="tavily") == 0
    assert value(body, "sift_build_info", version=__version__) == 1


def test_metrics_switched_off_nothing_is_counted(tmp_path: Path) -> None:
    """contract: Metrics: `SIFT_METRICS=off`."""
    services = build_services(settings(tmp_path, metrics=False))
    services.begin_metrics(tmp_path, 0)
    services.close()
    assert (services.scrape, services.why_no_metrics, list(tmp_path.iterdir())) == (None, "", [])


def test_searches_and_fetches_under_way_are_counted_until_they_end(tmp_path: Path) -> None:
    """contract: Metrics: however they end."""
    metrics = Metrics(("s1",), "1")
    metrics.begin(tmp_path, 0)
    seen: list[float] = []

    class Looking(FakeSource):
        def search(self, *arguments: Any, **more: Any) -> Any:
            seen.append(in_flight())
            return super().search(*arguments, **more)

    def in_flight() -> float:
        scrapes = Scrapes((), wanted=True, is_installed=True)
        scrapes.observers[0].directory = tmp_path
        scrape = scrapes.bound_to(dict)
        assert scrape is not None
        found = scrape()
        assert found is not None
        return total(found[0], "sift_in_flight")

    engine = engine_of(Looking("s1", SourceError("timeout")), observer=metrics)
    engine.search(SearchRequest(("q",)), "fleet")
    assert (seen, in_flight()) == ([1.0], 0.0)
    failing = engine_of(FakeSource("s1", out(page(1))), observer=metrics, now=lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        failing.search(SearchRequest(("q",)), "fleet")
    assert in_flight() == 0.0


def test_ready_is_open_and_says_no_more(tmp_path: Path) -> None:
    """contract: Operations: 200 while a source can be asked, else 503."""
    services = services_of(engine_of(FakeSource("s1", out(page(1)))), callers=CALLERS)
    for ready, answer in ((True, (200, {"status": "ready"})), (False, (503, {"status": "not ready"}))):
        asked = create_app(services=replace(services, ready=lambda ready=ready: ready)).test_client().get("/readyz")
        assert (asked.status_code, asked.get_json()) == answer


def test_ready_follows_breakers_and_caps(tmp_path: Path) -> None:
    """contract: Operations: not ready when every source is resting or capped."""
    source = SourceConfig("tavily", "http://127.0.0.1:1/", "k", daily_cap=0)
    capped = build_services(Config((source,), tmp_path, tmp_path / "keys.json", auth=False))
    assert capped.ready() is False
    both = build_services(settings(tmp_path / "two", breaker_failures=1))
    assert both.ready() is True
    both.engine.search(SearchRequest(("q",)), "fleet")
    assert both.ready() is False
    for services in (capped, both):
        services.close()
