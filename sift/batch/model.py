"""The immutable records of a batch: what callers submit and read, what workers claim and report.

Times are Unix seconds of the store's own clock. URLs, texts and keys are left out of every repr.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

ItemState = Literal["queued", "running", "ok", "failed", "cancelled"]
BatchState = Literal["queued", "running", "done", "cancelled"]
Only = Literal["", "ok", "failed"]

ACTIVE_BATCHES: Mapping[str, int] = {"restricted": 2, "fleet": 10}
"""Batches that a caller of a class may have under way."""
BATCH_SECONDS = 900.0
"""After this time a batch ends; what it has not opened by then failed."""
LEASE_SECONDS = 20.0
"""How long a host belongs to a worker that does not renew."""
GAP_SECONDS = 1.0
"""Between the end of one visit to a host and the start of the next."""
MAX_DELAY = 10.0
"""The longest gap that a robots.txt can ask for."""
MAX_WAIT = 60.0
"""The longest time after which an item is tried again."""
PAGE_BYTES = 2 * 1024 * 1024
"""Results of one page, at most, but for a first one that is longer."""
OVERDUE = ("fetch timeout", "deadline")
"""Error and hint of an item whose batch ran out of time."""


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """A valid request for a batch. Its URLs are as asked, and hostile.

    format: of a fetch, or the one of `sift.batch.result`. max_chars: code points of each text. max_age, ttl: seconds.
    """

    urls: tuple[str, ...] = field(repr=False)
    format: str = "markdown"
    max_chars: int = 20_000
    max_age: float = 3600.0
    ttl: float = 86_400.0


@dataclass(frozen=True, slots=True)
class Place:
    """One valid URL of a batch, where it stood in the request.

    key: URLs with the same one are opened once. host: whose turn it must be, as the guard reads it.
    """

    index: int
    url: str = field(repr=False)
    key: str = field(repr=False)
    host: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Submission:
    """A valid request for a batch.

    places: in the order of the request, at least one. invalid: JSON of the URLs that were refused, answered as it is.
    body: a digest of the request. key: the caller's idempotency key, "" for none. ttl, max_age: seconds.
    """

    caller: str
    cls: str
    places: tuple[Place, ...] = field(repr=False)
    invalid: str = field(default="[]", repr=False)
    format: str = "markdown"
    max_chars: int = 20_000
    max_age: float = 3600.0
    ttl: float = 86_400.0
    body: str = ""
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a submission came to; the same for each of its repeats but for `replayed`."""

    id: str
    total: int
    duplicates: int
    invalid: str = field(repr=False)
    created_at: float
    expires_at: float
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """A batch in numbers, counted in places.

    total: ok + failed + pending, whatever the state. finished_at: None before the end.
    """

    id: str
    state: BatchState
    total: int
    ok: int
    failed: int
    created_at: float
    expires_at: float
    finished_at: float | None = None

    @property
    def pending(self) -> int:
        """Places that are neither ok nor failed, those of a cancelled batch included."""
        return self.total - self.ok - self.failed


@dataclass(frozen=True, slots=True)
class PlaceResult:
    """One place of a batch as it stands. result: what a worker reported for an ok one."""

    index: int
    url: str = field(repr=False)
    state: ItemState
    attempts: int
    error: str = ""
    hint: str = ""
    result: bytes | None = field(default=None, repr=False)
    at: float | None = None


@dataclass(frozen=True, slots=True)
class ResultPage:
    """Some of a batch's places, in the order of the request. next_offset: None when these were the last."""

    id: str
    state: BatchState
    items: tuple[PlaceResult, ...]
    next_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One item that a worker has taken, and its host with it.

    index: the first place of the URL. attempt: counts from 1. lease: tells this claim from every other.
    seconds: until its batch ends.
    """

    batch: str
    index: int
    url: str = field(repr=False)
    host: str = field(repr=False)
    caller: str
    cls: str
    format: str
    max_chars: int
    max_age: float
    attempt: int
    lease: str = field(repr=False)
    seconds: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an item ended.

    result: of an ok one. delay: seconds that the host's robots.txt asks for between visits, None when it was not read.
    """

    state: Literal["ok", "failed"]
    error: str = ""
    hint: str = ""
    result: bytes | None = field(default=None, repr=False)
    delay: float | None = None


class Ended(NamedTuple):
    """A batch that has ended, for the log; counted in places."""

    caller: str
    total: int
    ok: int
    failed: int
    ms: int
