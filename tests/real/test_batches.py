"""Batches through the shipped gunicorn, whose worker is the test (contract: Batch)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sift.batch.model import Outcome
from sift.batch.result import encode, wanted
from sift.store.open import BATCHES_FILE
from sift.store.sqlite.jobs import SqliteJobs
from tests.api.fetching import page
from tests.service import Service

URLS = ["https://canary-one.com/canary?q=canary", "https://canary-two.com/", "http://canary@127.0.0.1/"]
# Of its own threads none opens a page of a batch; all run in one process, so that all waits are counted in one place.
SETTINGS = {"SIFT_DEMO": "on", "SIFT_BATCH_WORKERS": "0", "SIFT_LOG_LEVEL": "debug"}


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Run a service that takes batches."""
    with Service(tmp_path, SETTINGS) as running:
        yield running


def test_stop_comes_while_a_request_waits_it_is_answered_at_once(service: Service) -> None:
    """contract: Batch: a stop does not wait for what a request waits for."""
    batch = service.post("/v1/batch", {"urls": URLS}).json()["id"]
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(service.get, f"/v1/batch/{batch}?wait=20")
        assert service.get("/healthz").status == 200
        assert service.stop(within=10) == 0
        reply = waiting.result()
    assert (reply.status, reply.json()["status"]) == (200, "queued")


def test_nothing_of_a_batch_reaches_a_log_and_its_file_is_the_owners_alone(service: Service) -> None:
    """contract: Log, Store: not at the level debug, whatever becomes of it, through both doors."""
    jobs = SqliteJobs(service.state_dir / BATCHES_FILE, 10.0, gap=0.0)
    for path, header in (("/v1/batch", "Idempotency-Key"), ("/v2/batch/scrape", "x-idempotency-key")):
        batch = service.post(path, {"urls": URLS}, {header: f"canary-{header}"}).json()["id"]
        service.post(path, {"urls": URLS[:1]}, {header: f"canary-{header}"})
        service.post(path, {"urls": URLS}, {header: "canary key"})
        first, second = jobs.claim("one"), jobs.claim("two")
        assert first is not None
        assert second is not None
        result = encode(wanted(first), page(content="canary text"), is_cached=False)
        assert jobs.finish(first, Outcome("ok", result=result))
        assert jobs.finish(second, Outcome("failed", "fetch failed", "dns"))
        assert b"canary text" in service.get(f"{path}/{batch}{'/results' if path == '/v1/batch' else ''}").body
        for title in map(Path.read_bytes, Path("/proc").glob("[0-9]*/cmdline")):
            assert b"canary" not in title
        assert b"canary" not in service.get("/metrics").body
        for below in ("/errors", "?wait=canary", "?skip=canary", "/canary"):
            service.get(f"{path}/{batch}{below}")
        assert service.request("DELETE", f"{path}/{batch}?purge=canary", None).status in (200, 400)
    jobs.close()
    files = [file for file in service.state_dir.iterdir() if file.name.startswith(BATCHES_FILE)]
    assert files
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert b"canary" not in service.log()
