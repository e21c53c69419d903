"""What both engines do alike for batches; each adds how items are claimed and let go."""

from __future__ import annotations

import base64
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from sift.batch.model import (
    MAX_DELAY,
    PAGE_BYTES,
    BatchStatus,
    Ended,
    Only,
    PlaceResult,
    Receipt,
    ResultPage,
    Submission,
)
from sift.store.batches import reads, upkeep
from sift.store.batches.session import Session
from sift.store.batches.submit import submit
from sift.store.batches.tables import UNFINISHED

_T = TypeVar("_T")

_DUE = f"""
SELECT min(CASE WHEN first.next_at > first.wanted THEN first.next_at ELSE first.wanted END) - :tick
FROM (
    SELECT h.next_at,
        (SELECT min(i.not_before) FROM sift_items i
         WHERE i.host = h.host AND i.{UNFINISHED} AND i.ends_at > :tick) AS wanted
    FROM sift_hosts h
) AS first
"""
_WAITING = f"SELECT count(*) FROM sift_items WHERE {UNFINISHED} AND state = 'queued'"


def new_id() -> str:
    """Return an id that nobody can guess: 128 bits in base32."""
    return "b_" + base64.b32encode(secrets.token_bytes(16)).decode().rstrip("=").lower()


def new_lease() -> str:
    """Return what tells one claim from every other."""
    return secrets.token_hex(8)


class SqlJobs(ABC):
    """The protocol `Jobs` over rows, but for the claims.

    gap: seconds between two visits to a host. lease: seconds that a claim lasts unless it is renewed. ids: makes the
    ids of batches.
    """

    def __init__(self, gap: float, lease: float, ids: Callable[[], str]) -> None:
        self._gap = gap
        self._lease = lease
        self._ids = ids

    @abstractmethod
    def _run(self, work: Callable[[Session], _T], *, writes: bool = True) -> _T:
        """Run work in one transaction and return what it returned. Raises StoreError, and what the work raised."""

    def submit(self, submission: Submission) -> Receipt:
        """Keep a batch."""
        return self._run(lambda session: submit(session, submission, self._ids()))

    def status(self, caller: str, id: str) -> BatchStatus | None:
        """Return a batch's numbers, None if there is none."""
        found = self._run(partial(reads.numbers, caller=caller, id=id), writes=False)
        if found is not None and found.is_overdue:
            self._run(partial(upkeep.end_overdue, id=id))
            found = self._run(partial(reads.numbers, caller=caller, id=id), writes=False)
        return None if found is None else found.status

    def page(
        self, caller: str, id: str, *, offset: int = 0, limit: int = 20, only: Only = "", size: int = PAGE_BYTES
    ) -> ResultPage | None:
        """Return places of a batch, None if there is none."""
        status = self.status(caller, id)
        if status is None:
            return None
        return self._run(
            lambda session: reads.page(session, status, offset, limit, only, size),
            writes=False,
        )

    def errors(self, caller: str, id: str) -> tuple[PlaceResult, ...] | None:
        """Return the places of a batch that failed, None if there is no such batch."""
        if self.status(caller, id) is None:
            return None
        return self._run(partial(reads.errors, id=id), writes=False)

    def list(self, caller: str) -> tuple[BatchStatus, ...]:
        """Return the caller's batches, the newest first."""
        found = self._run(partial(reads.own, caller=caller), writes=False)
        overdue = [each.status.id for each in found if each.is_overdue]
        if overdue:
            for batch in overdue:
                self._run(partial(upkeep.end_overdue, id=batch))
            found = self._run(partial(reads.own, caller=caller), writes=False)
        return tuple(each.status for each in found)

    def cancel(self, caller: str, id: str) -> bool:
        """End what is left of a batch; return whether there is one."""
        return self._run(partial(upkeep.cancel, caller=caller, id=id))

    def purge(self, caller: str, id: str) -> bool:
        """Delete a batch; return whether there was one."""
        return self._run(partial(upkeep.purge, caller=caller, id=id))

    def due(self) -> float | None:
        """Return the seconds until an item can be claimed, None when none waits."""
        ((seconds,),) = self._run(lambda session: session.rows(_DUE), writes=False)
        return None if seconds is None else max(0.0, seconds)

    def waiting(self) -> int:
        """Return how many items wait."""
        ((count,),) = self._run(lambda session: session.rows(_WAITING), writes=False)
        return int(count)

    def ended(self) -> tuple[Ended, ...]:
        """Return the batches that have ended, each once."""
        return self._run(reads.ended)

    def sweep(self) -> None:
        """Delete what is expired, end what is overdue."""
        self._run(upkeep.sweep)

    def _delay(self, seconds: float | None) -> float | None:
        """Return a host's crawl delay within its bounds, None when it is not known."""
        return None if seconds is None else min(max(seconds, 0.0), MAX_DELAY)
