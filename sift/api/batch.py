"""What the routes of batches share (contract: Batch)."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flask import current_app, g, request

from sift.api.body import MAX_BATCH, parse_object, read_body
from sift.api.services import services
from sift.batch.ids import BATCH_ID
from sift.batch.model import BatchRequest, BatchStatus, PlaceResult, Receipt
from sift.batch.protocols import Jobs
from sift.batch.submission import digest_of, submission_of
from sift.batch.waits import Waits
from sift.errors import InvalidBatchError, UnknownBatchError
from sift.search.urls import read_url

ROBOTS = "robots disallow"
_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WHOLE = re.compile(r"[0-9]{1,9}")
_making = threading.Lock()


def jobs() -> Jobs:
    """Return what keeps the batches."""
    make = services().jobs
    assert make is not None  # the routes are there only with it
    return make()


def read_payload() -> dict[str, Any]:
    """Return the body of a request for a batch. Raises InvalidJsonError, RequestEntityTooLarge."""
    return parse_object(read_body(request.environ, MAX_BATCH))


def submitted(wanted: BatchRequest, payload: Mapping[str, Any], key_header: str) -> Receipt:
    """Submit a batch of the caller of this request, and tell the workers of this process.

    Raises InvalidBatchError, BatchLimitError, IdempotencyError, StoreError.
    """
    parts = services()
    assert parts.fetcher is not None
    key = request.headers.get(key_header)
    if key is not None and not _KEY.fullmatch(key):
        raise InvalidBatchError("idempotency_key")
    caller = g.caller
    submission = submission_of(
        wanted,
        caller.name,
        caller.cls,
        target=parts.fetcher().target,
        canonical=_canonical,
        body=digest_of(request.path, payload),
        key=key or "",
    )
    receipt = jobs().submit(submission)
    parts.wake()
    return receipt


def checked(id: str) -> str:
    """Return an id that may be a batch's. Raises UnknownBatchError."""
    if not BATCH_ID.fullmatch(id):
        raise UnknownBatchError
    return id


def status_of(id: str, seconds: float = 0) -> BatchStatus:
    """Return the numbers of the caller's batch, at its end or after so many seconds. Raises UnknownBatchError."""
    caller, store = g.caller.name, jobs()

    def look() -> BatchStatus:
        found = store.status(caller, checked(id))
        if found is None:
            raise UnknownBatchError
        return found

    return _waits().until(caller, seconds, look, lambda found: found.state in ("done", "cancelled"))


def errors_of(id: str) -> tuple[PlaceResult, ...]:
    """Return the places of the caller's batch that failed. Raises UnknownBatchError."""
    found = jobs().errors(g.caller.name, checked(id))
    if found is None:
        raise UnknownBatchError
    return found


def end(id: str, *, purges: bool = False) -> None:
    """End the caller's batch, or delete it. Raises UnknownBatchError."""
    store = jobs()
    if not (store.purge if purges else store.cancel)(g.caller.name, checked(id)):
        raise UnknownBatchError


def parameter(name: str, default: int, low: int, high: int) -> int:
    """Return a whole number of the query string. Raises InvalidBatchError."""
    text = request.args.get(name)
    if text is None:
        return default
    if not (_WHOLE.fullmatch(text) and low <= int(text) <= high):
        raise InvalidBatchError(name)
    return int(text)


def iso(seconds: float) -> str:
    """Return a moment of Unix time in ISO 8601 with `Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _canonical(url: str) -> str:
    address = read_url(url)
    return address.key if address else url


def _waits() -> Waits:
    """Return the waits of this process, made with the first of them."""
    extensions = current_app.extensions
    with _making:
        if "sift.waits" not in extensions:
            parts = services()
            extensions["sift.waits"] = Waits(parts.threads, lambda: parts.stopping.is_set)
        waits: Waits = extensions["sift.waits"]
        return waits
