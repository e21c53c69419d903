"""A part of an extractor's children (contract: Batch work)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from sift.fetch.extract.model import Document, Extract
from sift.fetch.extract.portion import Portion
from tests.fetch.test_fetcher import FakeExtractor
from tests.waiting import wait_for

PAGE = Document(b"text", "text/html", "", "https://a.com/")
FAR = 1e9


def test_portion_is_in_use_the_next_one_waits_and_the_rest_is_free() -> None:
    """contract: Batch work: pages of batches leave children to single fetches."""
    gate, inside = threading.Event(), threading.Semaphore(0)

    def wait() -> Extract:
        inside.release()
        gate.wait(20)
        return Extract("text", "builtin")

    whole = FakeExtractor(wait)
    portion = Portion(whole, 1)
    with ThreadPoolExecutor(2) as pool:
        running = [pool.submit(portion.extract, PAGE, "text", deadline=FAR) for _ in range(2)]
        inside.acquire(timeout=20)
        with pytest.raises(TimeoutError):
            portion.extract(PAGE, "text", deadline=0.0)
        assert len(whole.documents) == 1
        gate.set()
        assert [each.result().content for each in running] == ["text"] * 2
    wait_for(lambda: len(whole.documents) == 2)


def test_portion_is_as_the_whole_is_and_closes_nothing() -> None:
    whole = FakeExtractor()
    portion = Portion(whole, 1)
    portion.close()
    assert (portion.version, portion.takes_pdf, whole.closed) == ("1", True, False)
