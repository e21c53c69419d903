"""Metrics of a real service: several workers, one that is killed, a reload, a restart."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from sift.metrics import families
from tests.faults.watch import workers
from tests.metrics.scraping import check, needs_promtool, total, value
from tests.real.programs import bearer, free_port, new_key, readme_block
from tests.service import ROOT, Service
from tests.vendors import NAMES, Vendors, reply
from tests.waiting import wait_for

TWO = {"WEB_CONCURRENCY": "2"}


@pytest.fixture
def pair(vendors: Vendors, tmp_path: Path) -> Iterator[Service]:
    """Run a service of two workers, both of which have begun."""
    with Service(tmp_path, vendors.environ | TWO) as service:
        wait_for(lambda: slots(service) == {"0", "1"})
        yield service


def directory(service: Service) -> Path:
    """Return where the workers count."""
    (found,) = service.state_dir.glob("metrics-*")
    return found


def slots(service: Service, kind: str = "gauge_livemax") -> set[str]:
    """Return the slots that have a file of a kind."""
    return {path.stem.rpartition("_")[2] for path in directory(service).glob(f"{kind}_*.db")}


def scrape(service: Service) -> bytes:
    reply = service.get("/metrics")
    assert (reply.status, reply.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    return reply.body


def search_many(service: Service, first: int, count: int, distinct: int = 10) -> Counter[bool]:
    """Search several times at once, each on a connection of its own; return how many answers were cached."""
    with ThreadPoolExecutor(8) as pool:
        return Counter(
            pool.map(lambda number: service.search(f"words {number % distinct}")["cached"], range(first, first + count))
        )


def test_workers_of_a_service_are_one_in_its_metrics(vendors: Vendors, pair: Service) -> None:
    """contract: Metrics: searches, calls and what the cache spared add up exactly; credits are the ledger's."""
    search_many(pair, 0, 60)
    body, records = scrape(pair), pair.records()
    uses = Counter(record["cache"] for record in records)
    assert len(records) == 60
    for use in ("hit", "miss", "shared"):
        assert value(body, "sift_searches_total", caller_class="fleet", cache=use, status="200") == uses[use]
        assert value(body, "sift_search_duration_seconds_count", cache=use) == uses[use]
    for name in NAMES:
        assert total(body, "sift_source_calls_total", source=name) == len(vendors.calls(name)) == uses["miss"]
        assert value(body, "sift_credits_saved_total", source=name) == uses["hit"] + uses["shared"]
    status = pair.get("/v1/status").json()
    for source in status["sources"]:
        if "credits" in source:
            for field in ("used", "limit"):
                shown = value(body, f"sift_credits_{field}", source=source["name"])
                assert shown == source["credits"][field]
    assert value(body, "sift_credits_used", source="tavily") == uses["miss"]
    assert status["workers"] == 2
    assert total(body, "sift_in_flight") == 0
    assert total(body, "sift_cache_entries") == uses["miss"]


def test_worker_that_is_killed_leaves_its_counters(vendors: Vendors, pair: Service) -> None:
    """contract: Metrics: kill -9; the worker in its place goes on where it ended, and its cache is gone.

    Both are killed, one after the other: on a busy host one of them may have answered everything.
    """
    search_many(pair, 0, 40)
    assert total(scrape(pair), "sift_cache_entries") > 0
    for victim in workers(pair):
        (other,) = set(workers(pair)) - {victim}
        os.kill(victim, signal.SIGKILL)
        wait_for(lambda gone={victim, other}: len(set(workers(pair)) - gone) == 1 and slots(pair) == {"0", "1"})
        assert total(scrape(pair), "sift_searches_total") == 40
    assert total(scrape(pair), "sift_cache_entries") == 0
    search_many(pair, 0, 40)
    assert total(scrape(pair), "sift_searches_total") == 80
    assert slots(pair, "counter") == {"0", "1"}


def test_reload_goes_on_counting(vendors: Vendors, pair: Service) -> None:
    """contract: Metrics: new workers beside the old ones, then in their places; the files do not become more."""
    assert pair.process is not None
    for turn in range(1, 4):
        search_many(pair, 0, 20)
        old = set(workers(pair))
        pair.process.send_signal(signal.SIGHUP)
        wait_for(lambda old=old: len(workers(pair)) == 2 and not old & set(workers(pair)) and len(slots(pair)) == 2)
        assert total(scrape(pair), "sift_searches_total") == 20 * turn
    assert len(slots(pair, "counter")) <= 4


def test_restart_begins_at_nothing(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Metrics: a new directory at each start, the old one is gone."""
    service = Service(tmp_path, vendors.environ)
    with service:
        service.search("words")
        before = directory(service)
        assert total(scrape(service), "sift_searches_total") == 1
    with service:
        assert directory(service) != before
        assert total(scrape(service), "sift_searches_total") == 0


def test_number_of_workers_is_that_of_now(vendors: Vendors, pair: Service) -> None:
    """contract: Operations: also after gunicorn was told to have one more."""
    assert pair.process is not None
    pair.process.send_signal(signal.SIGTTIN)
    wait_for(lambda: pair.get("/v1/status").json()["workers"] == 3 and len(slots(pair)) == 3)


@pytest.mark.parametrize("arguments", [[], ["--preload"]], ids=["", "preload"])
def test_metrics_tell_who_may_see_them_and_what_failed(vendors: Vendors, tmp_path: Path, arguments: list[str]) -> None:
    """contract: Metrics: a key of class fleet; refusals are counted, and a source that fails shows."""
    state = tmp_path / "state"
    fleet, restricted = new_key(state, "one", "fleet"), new_key(state, "other", "restricted")
    vendors.behaviour[NAMES[0]] = reply(b"", 403)
    with Service(tmp_path, vendors.environ | {"SIFT_AUTH": "keys"}, arguments) as service:
        assert [service.get("/metrics").status, service.get("/metrics", bearer(restricted)).status] == [401, 403]
        service.post("/v1/search", {"query": "words"}, bearer(restricted))
        body = service.get("/metrics", bearer(fleet)).body
        assert service.get("/readyz").json() == {"status": "ready"}
    assert total(body, "sift_auth_failures_total") == 1
    assert value(body, "sift_searches_total", caller_class="restricted", cache="miss", status="200") == 1
    assert value(body, "sift_source_calls_total", source=NAMES[0], outcome="http_4xx") == 1
    assert [value(body, "sift_source_up", source=name) for name in NAMES] == [0] + [1] * (len(NAMES) - 1)


def test_fetches_are_counted_by_state(tmp_path: Path) -> None:
    """contract: Metrics: also those that the text of their URL rules out."""
    with Service(tmp_path, {"SIFT_DEMO": "on"}) as service:
        page = {"url": service.search("context manager")["results"][0]["url"]}
        answers = [service.post("/v1/fetch", body).status for body in (page, page, {"url": "http://localhost/"})]
        body = scrape(service)
    assert answers == [200, 200, 403]
    assert value(body, "sift_fetches_total", state="ok", cache="miss") == 1
    assert value(body, "sift_fetches_total", state="ok", cache="hit") == 1
    assert value(body, "sift_fetches_total", state="url not allowed", cache="miss") == 1
    assert total(body, "sift_fetch_duration_seconds_count") == 3


class Unread(Service):
    """A service whose log goes to a pipe."""

    write_end = -1

    def start(self) -> Service:
        """Start, and return once a worker answers."""
        popen = subprocess.Popen(self.command, cwd=ROOT, env=self.environ, stdin=subprocess.DEVNULL,
                                 stdout=self.write_end, stderr=self.write_end)  # fmt: skip
        self.process = popen
        return self


def test_lines_that_nobody_reads_are_counted(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Metrics, Log: as many as the log itself says later."""
    port = free_port()
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
    service = Unread(tmp_path, vendors.environ)
    service.write_end, service.port = write_end, port
    service.command[service.command.index("127.0.0.1:0")] = f"127.0.0.1:{port}"

    def answers() -> bool:
        try:
            return service.get("/healthz").status == 200
        except OSError:
            return False

    try:
        with service:
            wait_for(answers)
            for _ in range(80):
                service.search("anything")
            dropped = total(scrape(service), "sift_log_lines_dropped_total")
            written = os.read(read_end, 100_000).count(b'"event": "search"')
    finally:
        os.close(read_end)
        os.close(write_end)
    assert written + dropped == 80
    assert dropped > 40


def test_state_directory_cannot_be_written_searches_go_on(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Metrics: a warning, and 503 for who asks."""
    (tmp_path / "file").touch()
    environ = {name: text for name, text in vendors.environ.items() if "TAVILY" not in name}
    with Service(tmp_path, environ | {"SIFT_STATE_DIR": str(tmp_path / "file" / "state")}) as service:
        assert service.search("words")["results"]
        assert service.get("/metrics").status == 503
        assert [record["level"] for record in service.records("metrics_unavailable")] == ["warning"]


def test_metrics_off_leave_no_file(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Metrics: `SIFT_METRICS=off`."""
    with Service(tmp_path, vendors.environ | {"SIFT_METRICS": "off"}) as service:
        assert service.search("words")["results"]
        assert service.get("/metrics").status == 404
        assert list(service.state_dir.glob("metrics-*")) == []


@needs_promtool
def test_files_for_prometheus_are_valid(pair: Service, tmp_path: Path) -> None:
    """deploy/: promtool takes the rules, the scrape configuration and what is scraped."""
    search_many(pair, 0, 10)
    assert check("metrics", stdin=scrape(pair)) == (0, b"")
    code, said = check("rules", str(ROOT / "deploy" / "prometheus-rules.yml"))
    assert code == 0, said
    shutil.copytree(ROOT / "deploy", tmp_path / "deploy")
    (tmp_path / "deploy" / "sift.token").touch()
    code, said = check("config", str(tmp_path / "deploy" / "prometheus.yml"))
    assert code == 0, said


def test_configuration_of_prometheus_is_the_one_shown() -> None:
    """README, Metrics: what is shown is what is in deploy/."""
    assert readme_block("yaml", "scrape_configs") == (ROOT / "deploy" / "prometheus.yml").read_text()


def test_alerts_are_about_metrics_that_there_are() -> None:
    """deploy/prometheus-rules.yml: a metric that is renamed would silence its alert."""
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus-rules.yml").read_text())["groups"][0]["rules"]
    named = {name for rule in rules for name in re.findall(r"sift_\w+", rule["expr"])}
    known = {each.name for each in vars(families).values() if isinstance(each, families.Family)}
    assert named <= known | {families.CREDITS_USED[0], families.CREDITS_LIMIT[0]}
    assert len(named) >= 6
