"""What becomes of an item once its page was asked for (contract: Batch work)."""

from __future__ import annotations

import pytest

from sift.batch.model import Outcome
from sift.batch.result import encode, wanted
from sift.batch.verdict import Again, Untried, decide
from sift.fetch.model import Failed, Fetched, Page
from tests.api.fetching import page
from tests.batch.test_result import claim

PASSING = [
    Failed("fetch timeout"),
    Failed("fetch failed", "connect"),
    *(Failed("fetch failed", f"status {status}") for status in (429, 502, 503, 504)),
]
FINAL = [
    Failed("url not allowed", "port"),
    Failed("robots disallow"),
    Failed("unsupported content type"),
    *(Failed("fetch failed", hint) for hint in ("unreachable", "dns", "tls", "address", "redirects", "bad response")),
    *(Failed("fetch failed", f"status {status}") for status in (400, 404, 408, 425, 500, 501, 520)),
]


def verdict(
    outcome: Page | Failed, attempt: int = 1, left: float = 900.0, delay: float | None = None
) -> Outcome | Again | Untried:
    """Return what becomes of an item."""
    item = claim(attempt=attempt)
    return decide(item, wanted(item), Fetched(outcome, "miss", 0.5, delay=delay), left)


@pytest.mark.parametrize("failure", PASSING)
@pytest.mark.parametrize(("attempt", "wait"), [(1, 2.0), (2, 10.0)])
def test_failure_may_pass_the_item_waits(failure: Failed, attempt: int, wait: float) -> None:
    assert verdict(failure, attempt, delay=3.0) == Again(wait, 3.0)


@pytest.mark.parametrize("attempt", [3, 4, 9])
@pytest.mark.parametrize("failure", PASSING)
def test_third_attempt_fails_it_was_the_last(failure: Failed, attempt: int) -> None:
    """contract: Batch work: attempts of killed workers count as well."""
    assert verdict(failure, attempt) == Outcome("failed", failure.state, failure.hint)


@pytest.mark.parametrize("failure", FINAL)
def test_failure_will_not_pass_one_attempt_is_all(failure: Failed) -> None:
    """contract: Batch work: `unreachable`, too, so that no count tells a refused address from a refused connection."""
    assert verdict(failure, delay=1.0) == Outcome("failed", failure.state, failure.hint, delay=1.0)


@pytest.mark.parametrize(("asked", "wait"), [(1.0, 1.0), (45.0, 45.0), (3600.0, 60.0)])
def test_site_says_when_it_counts_up_to_a_minute(asked: float, wait: float) -> None:
    assert verdict(Failed("fetch failed", "status 429", asked)) == Again(wait, None)


def test_batch_ends_before_the_next_attempt_this_one_is_the_last() -> None:
    """contract: Batch work: what failed is said, and not that there was no time."""
    assert verdict(Failed("fetch timeout"), left=2.0) == Outcome("failed", "fetch timeout")


def test_this_host_had_no_room_nothing_was_tried() -> None:
    assert verdict(Failed("busy")) == Untried()


def test_page_came_it_is_stored_as_a_fetch_answers_it() -> None:
    found = verdict(page(), delay=4.0)
    assert found == Outcome("ok", result=encode(wanted(claim()), page(), is_cached=False), delay=4.0)
