"""Firecrawl's own SDK against `/v2/batch/scrape`, in the version that Hermes pins and the newest.

Where pages must end one by one the service opens none: the test is the worker, through the store that both share.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sift.batch.model import Outcome
from sift.batch.result import encode, wanted
from sift.store.open import BATCHES_FILE
from sift.store.sqlite.jobs import SqliteJobs
from tests.api.fetching import page
from tests.real.programs import new_key
from tests.real.test_firecrawl import Sdk, sdk
from tests.service import Service
from tests.waiting import wait_for

__all__ = ["sdk"]

URLS = [f"https://host-{number}.com/page" for number in range(8)]


class Batches:
    """A service whose batches the test works on."""

    def __init__(self, place: Path) -> None:
        self.key = new_key(place / "state", "batcher", "fleet")
        self.other = new_key(place / "state", "other", "fleet")
        settings = {"SIFT_DEMO": "on", "SIFT_AUTH": "keys", "SIFT_BATCH_WORKERS": "0"}
        self.service = Service(place, settings).start()
        self.jobs = SqliteJobs(self.service.state_dir / BATCHES_FILE, 10.0, gap=0.0)

    def call(self, sdk: Sdk, method: str, key: str = "", **arguments: Any) -> dict[str, Any]:
        """Call a method of the SDK."""
        return sdk.call(method=method, url=self.service.url, key=key or self.key, arguments=arguments)

    def start(self, sdk: Sdk, **arguments: Any) -> str:
        """Start a batch; return its batch."""
        found = self.call(sdk, "start_batch_scrape", urls=URLS[:2], **arguments)
        assert "batch" in found, found
        return str(found["batch"]["id"])

    def work(self, pages: int, **changes: Any) -> None:
        """Open so many pages, but for one that fails where its URL says so."""
        for _ in range(pages):
            wait_for(lambda: self.jobs.due() == 0, 20)
            claim = self.jobs.claim("the test")
            assert claim is not None
            text = page(content=claim.url, **changes)
            outcome = Outcome("ok", result=encode(wanted(claim), text, is_cached=False))
            assert self.jobs.finish(claim, Outcome("failed", "robots disallow") if "host-1." in claim.url else outcome)

    def close(self) -> None:
        """Stop the service."""
        self.jobs.close()
        self.service.stop()


@pytest.fixture(scope="module")
def batches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Batches]:
    """Run one service for all tests of this module."""
    made = Batches(tmp_path_factory.mktemp("batches"))
    yield made
    made.close()


def test_batch_scrape_waits_for_all_pages(sdk: Sdk, batches: Batches) -> None:
    """contract: Batch scrape: `batch_scrape()` submits, asks until the end, and has a document for each page."""
    with ThreadPoolExecutor(1) as pool:
        asked = {"urls": ["http://10.0.0.1/", *URLS[:3]], "formats": ["markdown", "html"], "poll_interval": 1}
        found = pool.submit(batches.call, sdk, "batch_scrape", **asked)
        batches.work(3)
        batch = found.result(60)["batch"]
    assert (batch["status"], batch["total"], batch["completed"]) == ("completed", 3, 2)
    assert [each["markdown"] for each in batch["data"]] == [URLS[0], URLS[2]]
    assert batch["data"][0]["html"] == "<h1>One</h1>"
    metadata = batch["data"][0]["metadata"]
    assert (metadata["source_url"], metadata["title"], metadata["status_code"]) == (URLS[0], "One", 200)


def test_started_batch_is_asked_about_ended_and_its_errors_told(sdk: Sdk, batches: Batches) -> None:
    """contract: Batch scrape: status, errors and cancelling, as the SDK calls them."""
    found = batches.call(sdk, "start_batch_scrape", urls=[*URLS[:2], URLS[4], "http://10.0.0.1/"])["batch"]
    batch = found["id"]
    assert found["url"] == f"{batches.service.url}/v2/batch/scrape/{batch}"
    assert found["invalid_urls"] == ["http://10.0.0.1/"]
    assert batches.call(sdk, "get_batch_scrape_status", job_id=batch)["batch"]["status"] == "scraping"
    batches.work(2)
    shown = batches.call(sdk, "get_batch_scrape_status", job_id=batch)["batch"]
    assert (shown["status"], len(shown["data"]), shown["expires_at"] is not None) == ("scraping", 1, True)
    errors = batches.call(sdk, "get_batch_scrape_errors", job_id=batch)["batch"]
    assert [(each["url"], each["error"]) for each in errors["errors"]] == [(URLS[1], "robots disallow")]
    assert errors["robots_blocked"] == [URLS[1]]
    assert batches.call(sdk, "cancel_batch_scrape", job_id=batch)["batch"] is True
    assert batches.call(sdk, "get_batch_scrape_status", job_id=batch)["batch"]["status"] == "cancelled"


def test_pages_of_several_answers_come_together(sdk: Sdk, batches: Batches) -> None:
    """contract: Batch scrape: the SDK follows `next` to the end, wherever it points, and asks for each page once."""
    batch = batches.call(sdk, "start_batch_scrape", urls=URLS)["batch"]["id"]
    batches.work(len(URLS), description="€" * 200_000)
    batch = batches.call(sdk, "get_batch_scrape_status", job_id=batch)["batch"]
    assert [each["markdown"] for each in batch["data"]] == [URLS[0], *URLS[2:]]
    assert batch["completed"] == 7


def test_key_comes_again_the_batch_is_the_same(sdk: Sdk, batches: Batches) -> None:
    """contract: Batch scrape: the SDK sends `x-idempotency-key`."""
    key = f"key-{sdk.version.replace('.', '-')}"
    first = batches.start(sdk, idempotency_key=key)
    assert batches.start(sdk, idempotency_key=key) == first
    refused = batches.call(sdk, "start_batch_scrape", urls=URLS[:3], idempotency_key=key)
    assert "idempotency mismatch" in refused["message"]
    assert batches.call(sdk, "cancel_batch_scrape", job_id=first)["batch"] is True


def test_errors_of_the_sdk_tell_what_is_wrong(sdk: Sdk, batches: Batches) -> None:
    """contract: Batch scrape: each in the class that the SDK has for its status, and asked for once."""
    refused = batches.call(sdk, "batch_scrape", urls=["http://10.0.0.1/"])
    assert (refused["error"], "invalid batch - urls must be" in refused["message"]) == ("BadRequestError", True)
    made = [batches.start(sdk) for _ in range(10)]
    limited = batches.call(sdk, "start_batch_scrape", urls=URLS[:1])
    assert (limited["error"], "rate limited" in limited["message"]) == ("RateLimitError", True)
    for batch in made:
        assert batches.call(sdk, "cancel_batch_scrape", job_id=batch)["batch"] is True
    foreign = batches.call(sdk, "get_batch_scrape_status", key=batches.other, job_id=made[0])
    assert "not found - there is no such batch" in foreign["message"]


def test_pages_of_a_search_are_scraped_by_the_services_own_workers(sdk: Sdk, tmp_path: Path) -> None:
    """contract: Batch scrape, Demo: search, then `batch_scrape()` of what was found, as in README.md."""
    key = new_key(tmp_path / "state", "reader", "fleet")
    with Service(tmp_path, {"SIFT_DEMO": "on", "SIFT_AUTH": "keys"}) as service:
        found = sdk.search(service.url, key, query="context manager", limit=3)
        urls = [hit["url"] for hit in found["web"]]
        asked = {"urls": [*urls, "http://10.0.0.1/"], "poll_interval": 1, "wait_timeout": 60}
        batch = sdk.call(method="batch_scrape", url=service.url, key=key, arguments=asked)["batch"]
        assert (batch["status"], batch["total"], batch["completed"]) == ("completed", 3, 3)
        assert [each["metadata"]["source_url"] for each in batch["data"]] == urls
        assert all("context" in each["markdown"] for each in batch["data"])
        (record,) = service.records("batch")
        assert (record["caller"], record["ok"], record["failed"]) == ("reader", 3, 0)
