"""What becomes of an item once its page was asked for (contract: Batch work); pure."""

from __future__ import annotations

from typing import NamedTuple

from sift.batch.model import MAX_WAIT, Claim, Outcome
from sift.batch.result import encode
from sift.fetch.model import Failed, Fetched, FetchRequest

WAITS = (2.0, 10.0)
"""Seconds before the second and the third attempt, unless the site says when it wants to be asked again."""
_MAY_PASS = frozenset(
    {
        Failed("fetch timeout"),
        Failed("fetch failed", "connect"),
        *(Failed("fetch failed", f"status {status}") for status in (429, 502, 503, 504)),
    }
)
"""What may be over when it is tried again. `unreachable` is not among it: a restricted caller would see from the
attempts whether an address was refused or a connection."""
INTERNAL = Outcome("failed", "internal error")
"""Of an item that met a fault of ours, and would meet it again."""


class Again(NamedTuple):
    """The item is to be tried again after some seconds. delay: as in an Outcome."""

    seconds: float
    delay: float | None


class Untried(NamedTuple):
    """Nothing was tried, as this host has no room for it now: the item is anybody's."""


def decide(claim: Claim, request: FetchRequest, fetched: Fetched, left: float) -> Outcome | Again | Untried:
    """Return what becomes of a claimed item.

    request: what was fetched for it. left: seconds until its batch ends; a wait that ends later makes no sense.
    """
    found = fetched.outcome
    if not isinstance(found, Failed):
        result = encode(request, found, is_cached=fetched.cache == "hit")
        return Outcome("ok", result=result, delay=fetched.delay)
    if found.state == "busy":
        return Untried()
    if claim.attempt <= len(WAITS) and Failed(found.state, found.hint) in _MAY_PASS:
        wait = WAITS[claim.attempt - 1] if found.retry_after is None else min(found.retry_after, MAX_WAIT)
        if wait < left:
            return Again(wait, fetched.delay)
    return Outcome("failed", found.state, found.hint, delay=fetched.delay)
