"""What is counted, as a scrape shows it."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from sift.errors import FetchError, NoThreadError
from sift.metrics.board import drop_gauges
from sift.metrics.exposition import exposition
from sift.metrics.families import BOUNDS, FAILURES, FETCH_STATES, OTHER, OUTCOMES, SKIPS, outcome_label
from sift.metrics.observer import Metrics
from sift.search.plan import CAPPED
from sift.sources.brave import QUOTA
from tests.fakes import in_parallel
from tests.metrics.scraping import check, needs_promtool, samples, total, value
from tests.service import ROOT

SOURCES = ("a", "b")


def counting(directory: Path, slot: int = 0, now: float = 1000.0) -> Metrics:
    metrics = Metrics(SOURCES, "1.2.3", now=lambda: now)
    metrics.begin(directory, slot)
    return metrics


def scrape(directory: Path) -> bytes:
    return exposition(directory, {"a": (3, 30), "b": (None, 5)})


def test_every_metric_is_there_from_the_start(tmp_path: Path) -> None:
    """contract: Metrics: at 0, but for what has not failed yet, the version and the limits."""
    counting(tmp_path)
    found = samples(scrape(tmp_path))
    assert {(name, value) for (name, _), value in found.items() if value} == {
        ("sift_build_info", 1.0), ("sift_source_up", 1.0), ("sift_credits_used", 3.0), ("sift_credits_limit", 30.0),
        ("sift_credits_limit", 5.0),
    }  # fmt: skip
    names = set(re.findall(rb"^# TYPE (\w+) ", scrape(tmp_path), re.MULTILINE))
    assert names == {
        b"sift_searches_total", b"sift_search_duration_seconds", b"sift_source_calls_total",
        b"sift_source_duration_seconds", b"sift_source_breaker_open", b"sift_source_up", b"sift_credits_used",
        b"sift_credits_limit", b"sift_credits_saved_total", b"sift_fetches_total", b"sift_fetch_duration_seconds",
        b"sift_batch_items_total", b"sift_batch_items_waiting", b"sift_cache_entries", b"sift_in_flight",
        b"sift_auth_failures_total", b"sift_log_lines_dropped_total", b"sift_build_info",
    }  # fmt: skip
    assert not [labels for _, labels in found if "pid" in dict(labels)]


@needs_promtool
def test_promtool_has_nothing_to_say(tmp_path: Path) -> None:
    """contract: Metrics: names, types and helps are as Prometheus wants them, before and after something happened."""
    metrics = counting(tmp_path)
    assert check("metrics", stdin=scrape(tmp_path)) == (0, b"")
    events(metrics)
    assert check("metrics", stdin=scrape(tmp_path)) == (0, b"")
    assert check("metrics", stdin=b"sift_bad 1\n")[0] != 0


def events(metrics: Metrics) -> None:
    """Report one event of each kind."""
    metrics.search_ended("fleet", "hit", 0.001, answered=True)
    metrics.search_ended("restricted", "miss", 0.3, answered=False)
    metrics.call_ended("a", "ok", 0.02, 1)
    metrics.call_ended("b", "http 503", 100.0, 0)
    metrics.call_skipped("b", "daily cap")
    metrics.breaker_changed("b", "open")
    metrics.spared((("a", 2), ("b", 1)), shared=True)
    metrics.fetch_ended("ok", "shared", 0.5)
    metrics.batch_items_ended("failed", 1)
    metrics.batch_items_waiting(7)
    metrics.cache_resized(12)
    metrics.work_began()
    metrics.auth_failed()
    metrics.line_dropped()


def test_each_event_is_counted_where_it_belongs(tmp_path: Path) -> None:
    """contract: Metrics: the labels of the table, and nothing else has moved."""
    metrics = counting(tmp_path)
    before = samples(scrape(tmp_path))
    events(metrics)
    body = scrape(tmp_path)
    changed = {
        key: number for key, number in samples(body).items() if number != before[key] and "_bucket" not in key[0]
    }
    expected = [
        ("sift_searches_total", {"caller_class": "fleet", "cache": "hit", "status": "200"}, 1),
        ("sift_searches_total", {"caller_class": "restricted", "cache": "miss", "status": "503"}, 1),
        ("sift_search_duration_seconds_sum", {"cache": "hit"}, 0.001),
        ("sift_search_duration_seconds_count", {"cache": "hit"}, 1),
        ("sift_search_duration_seconds_sum", {"cache": "miss"}, 0.3),
        ("sift_search_duration_seconds_count", {"cache": "miss"}, 1),
        ("sift_source_calls_total", {"source": "a", "outcome": "ok"}, 1),
        ("sift_source_calls_total", {"source": "b", "outcome": "http_5xx"}, 1),
        ("sift_source_calls_total", {"source": "b", "outcome": "daily cap"}, 1),
        ("sift_source_duration_seconds_sum", {"source": "a"}, 0.02),
        ("sift_source_duration_seconds_count", {"source": "a"}, 1),
        ("sift_source_duration_seconds_sum", {"source": "b"}, 100),
        ("sift_source_duration_seconds_count", {"source": "b"}, 1),
        ("sift_source_breaker_open", {"source": "b"}, 1),
        ("sift_source_up", {"source": "b"}, 0),
        ("sift_credits_saved_total", {"source": "a"}, 2),
        ("sift_credits_saved_total", {"source": "b"}, 1),
        ("sift_fetches_total", {"state": "ok", "cache": "shared"}, 1),
        ("sift_fetch_duration_seconds_sum", {"cache": "shared"}, 0.5),
        ("sift_fetch_duration_seconds_count", {"cache": "shared"}, 1),
        ("sift_batch_items_total", {"state": "failed"}, 1),
        ("sift_batch_items_waiting", {}, 7),
        ("sift_cache_entries", {}, 12),
        ("sift_in_flight", {}, 1),
        ("sift_auth_failures_total", {}, 1),
        ("sift_log_lines_dropped_total", {}, 1),
    ]
    assert changed == {(name, frozenset(labels.items())): number for name, labels, number in expected}


@pytest.mark.parametrize("seconds", [0.0, *BOUNDS, *(bound + 1e-6 for bound in BOUNDS)])
def test_duration_is_in_the_buckets_that_are_not_below_it(tmp_path: Path, seconds: float) -> None:
    """contract: Metrics: a bound belongs to its bucket, and the last bucket takes everything."""
    counting(tmp_path).search_ended("fleet", "off", seconds, answered=True)
    body = scrape(tmp_path)
    for bound in BOUNDS:
        found = value(body, "sift_search_duration_seconds_bucket", cache="off", le=str(bound))
        assert found == (seconds <= bound), bound
    assert value(body, "sift_search_duration_seconds_bucket", cache="off", le="+Inf") == 1


def test_what_comes_back_is_up_and_closed(tmp_path: Path) -> None:
    """contract: Metrics: gauges follow; a breaker that lets one call try is not closed yet."""
    metrics = counting(tmp_path)
    events(metrics)
    metrics.breaker_changed("b", "half-open")
    assert value(scrape(tmp_path), "sift_source_breaker_open", source="b") == 1
    metrics.breaker_changed("b", "closed")
    metrics.call_ended("b", "ok", 0.1, 0)
    metrics.work_ended()
    metrics.cache_resized(0)
    body = scrape(tmp_path)
    assert value(body, "sift_source_breaker_open", source="b") == 0
    assert value(body, "sift_source_up", source="b") == 1
    assert (total(body, "sift_in_flight"), total(body, "sift_cache_entries")) == (0, 0)


def test_workers_are_added_up_or_the_worst_is_shown(tmp_path: Path) -> None:
    """contract: Metrics: breaker the highest, up the lowest, entries and in flight the sum, what waits the newest."""
    busy, idle = counting(tmp_path, 0, now=5000.0), counting(tmp_path, 1, now=4000.0)
    events(busy)
    idle.search_ended("fleet", "hit", 0.001, answered=True)
    idle.call_ended("b", "ok", 0.1, 0)
    idle.cache_resized(30)
    idle.work_began()
    idle.batch_items_waiting(99)
    body = scrape(tmp_path)
    assert value(body, "sift_searches_total", caller_class="fleet", cache="hit", status="200") == 2
    assert value(body, "sift_source_breaker_open", source="b") == 1
    assert value(body, "sift_source_up", source="b") == 0
    assert (total(body, "sift_cache_entries"), total(body, "sift_in_flight")) == (42, 2)
    assert total(body, "sift_batch_items_waiting") == 7
    assert total(body, "sift_build_info") == 1


def test_worker_that_is_gone_leaves_its_counters_and_no_gauges(tmp_path: Path) -> None:
    """contract: Metrics: and whoever takes its place goes on counting there."""
    events(counting(tmp_path, 0))
    counting(tmp_path, 1)
    drop_gauges(tmp_path, 0)
    body = scrape(tmp_path)
    assert total(body, "sift_searches_total") == 2
    assert value(body, "sift_source_up", source="b") == 1
    assert (total(body, "sift_cache_entries"), total(body, "sift_in_flight")) == (0, 0)
    events(counting(tmp_path, 0))
    assert total(scrape(tmp_path), "sift_searches_total") == 4
    counting(tmp_path, 0)  # nobody noticed the end of the one before
    body = scrape(tmp_path)
    assert (total(body, "sift_searches_total"), total(body, "sift_cache_entries")) == (4, 0)


def test_nothing_is_counted_before_the_beginning(tmp_path: Path) -> None:
    """contract: Operations: importing writes nothing; a master that builds the parts has no numbers."""
    metrics = Metrics(SOURCES, "1")
    events(metrics)
    metrics.work_ended()
    assert (metrics.directory, list(tmp_path.iterdir())) == (None, [])


def test_threads_lose_no_event(tmp_path: Path) -> None:
    """contract: Metrics: sums are exact."""
    metrics = counting(tmp_path)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        in_parallel(8, lambda _: [metrics.search_ended("fleet", "hit", 0.5, answered=True) for _ in range(2000)])
    finally:
        sys.setswitchinterval(interval)
    body = scrape(tmp_path)
    assert total(body, "sift_searches_total") == 16_000
    assert value(body, "sift_search_duration_seconds_sum", cache="hit") == 8000


def test_unknown_words_are_one_label(tmp_path: Path) -> None:
    """contract: Metrics: labels are closed: no word that is not in the lists ever becomes one."""
    metrics = counting(tmp_path)
    before = samples(scrape(tmp_path)).keys()
    for word in ("secret words", "http 999", "http ", "http x", ""):
        metrics.call_ended("a", word, 0.1, 0)
        metrics.call_skipped("a", word)
        metrics.fetch_ended(word, "miss", 0.1)
        metrics.batch_items_ended(word, 1)
    metrics.call_ended("secret", "ok", 0.1, 0)
    metrics.call_skipped("secret", "daily cap")
    metrics.breaker_changed("secret", "open")
    metrics.spared((("secret", 1),), shared=False)
    body = scrape(tmp_path)
    assert samples(body).keys() == before
    assert value(body, "sift_source_calls_total", source="a", outcome=OTHER) == 10
    assert value(body, "sift_fetches_total", state=OTHER, cache="miss") == 5


def words_of(kind: str) -> set[str]:
    """Return the constant first arguments of the calls of a class anywhere in Sift."""
    return {
        node.args[0].value
        for path in (ROOT / "sift").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == kind
        and node.args and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str)
    }  # fmt: skip


def test_every_word_that_occurs_has_a_label_of_its_own() -> None:
    """contract: Metrics: a new failure or skip must be given its label."""
    assert words_of("SourceError") >= {"timeout", "unreachable"}
    assert words_of("SourceError") - {"internal error"} <= set(FAILURES)
    skips = {*words_of("Skip"), CAPPED, QUOTA, NoThreadError().reason, "daily cap unavailable", "not asked"}
    assert {outcome_label(each) for each in skips} == set(SKIPS)
    assert {outcome_label(f"http {status}") for status in (403, 429, 500)} == {"http_4xx", "http_5xx"}
    assert words_of(FetchError.__name__) <= set(FETCH_STATES)
    assert len(set(OUTCOMES)) == len(OUTCOMES)
