"""Batches in an SQLite file, for all processes of a host (contract: Store)."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sift.batch.model import GAP_SECONDS, LEASE_SECONDS, MAX_WAIT, Claim, Outcome
from sift.store.batches.jobs import SqlJobs, new_id, new_lease
from sift.store.batches.session import Session
from sift.store.batches.tables import UNFINISHED
from sift.store.sqlite.file import BatchFile, FileSession

_T = TypeVar("_T")

# Also an item that runs: the row of its host is free, so whoever ran it is gone.
_FIRST = f"""
SELECT i.batch, i.idx, h.host FROM sift_items i JOIN sift_hosts h ON h.host = i.host
WHERE i.{UNFINISHED} AND i.not_before <= :tick AND i.ends_at > :tick AND h.next_at <= :tick
ORDER BY i.turn, i.batch, i.idx LIMIT 1
"""
_TAKE_HOST = """
UPDATE sift_hosts SET owner = :owner, lease = :lease, batch = :batch, idx = :idx,
    lease_until = :tick + :seconds, next_at = :tick + :seconds + max(:gap, delay), used_at = :tick
WHERE host = :host
"""
_TAKE_ITEM = """
UPDATE sift_items SET state = 'running', attempts = attempts + 1, lease = :lease WHERE batch = :batch AND idx = :idx
"""
_CLAIM = """
SELECT i.batch, i.idx, p.url, i.host, b.caller, b.class, b.format, b.max_chars, b.max_age, i.attempts, i.lease,
    i.ends_at - :tick
FROM sift_items i JOIN sift_batches b ON b.id = i.batch JOIN sift_places p ON p.batch = i.batch AND p.idx = i.idx
WHERE i.batch = :batch AND i.idx = :idx
"""
_RENEW = """
UPDATE sift_hosts SET lease_until = :tick + :seconds, next_at = :tick + :seconds + max(:gap, delay), used_at = :tick
WHERE host = :host AND owner = :owner
AND EXISTS (SELECT 1 FROM sift_items i WHERE i.batch = sift_hosts.batch AND i.idx = sift_hosts.idx
            AND i.lease = sift_hosts.lease AND i.state = 'running' AND i.ends_at > :tick)
"""
_LET_GO = """
UPDATE sift_hosts SET owner = NULL, lease = NULL, batch = NULL, lease_until = 0, delay = coalesce(:delay, delay),
    next_at = :tick + max(:gap, coalesce(:delay, delay)), used_at = :tick
WHERE host = :host AND lease = :lease
"""
_HELD = "WHERE batch = :batch AND idx = :idx AND state = 'running' AND lease = :lease AND ends_at > :tick"
_FINISH = f"""
UPDATE sift_items SET state = :state, error = :error, hint = :hint, result = :result, size = :size, lease = NULL,
    finished_at = :now
{_HELD}
"""
_RETRY = f"UPDATE sift_items SET state = 'queued', lease = NULL, not_before = :tick + :seconds {_HELD}"
_GIVE_BACK = f"UPDATE sift_items SET state = 'queued', lease = NULL, attempts = attempts - 1 {_HELD}"


def uptime() -> float:
    """Return seconds of the clock that runs from the start of the host, and that nobody sets."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class SqliteJobs(SqlJobs):
    """Keep batches in a file, whose one writer at a time the others wait for.

    timeout: seconds to wait at most. now: Unix time. ticks: seconds of a clock that all processes of the host share.
    """

    def __init__(
        self,
        path: Path,
        timeout: float = 1.0,
        *,
        gap: float = GAP_SECONDS,
        lease: float = LEASE_SECONDS,
        ids: Callable[[], str] = new_id,
        now: Callable[[], float] = time.time,
        ticks: Callable[[], float] = uptime,
    ) -> None:
        super().__init__(gap, lease, ids)
        self._is_idle = True
        self._file = BatchFile(path, timeout, now, ticks)

    def claim(self, owner: str) -> Claim | None:
        """Take a free host and the first item that waits for it, None when there is none."""
        # Idle workers look first, without holding up whoever writes.
        if self._is_idle and not self._run(lambda session: session.rows(_FIRST), writes=False):
            return None
        # A power cut ends all claims, whether they were on the disk or not.
        claim = self._file.run(lambda session: self._claim(session, owner), writes=True, flushes=False)
        self._is_idle = claim is None
        return claim

    def renew(self, owner: str, host: str) -> bool:
        """Extend the lease of a claim; return whether it is still wanted."""
        values = {"owner": owner, "host": host, "seconds": self._lease, "gap": self._gap}
        return self._file.run(lambda session: session.change(_RENEW, **values) > 0, writes=True, flushes=False)

    def finish(self, claim: Claim, outcome: Outcome) -> bool:
        """Record an outcome and let the host go; return whether it counts."""
        return self._end(
            claim,
            outcome.delay,
            _FINISH,
            state=outcome.state,
            error=outcome.error,
            hint=outcome.hint,
            result=outcome.result,
            size=len(outcome.result or b""),
        )

    def retry(self, claim: Claim, not_before: float, *, delay: float | None = None) -> bool:
        """Let an item wait and the host go; return whether the claim was still held."""
        return self._end(claim, delay, _RETRY, seconds=min(max(not_before, 0.0), MAX_WAIT))

    def give_back(self, claim: Claim) -> bool:
        """Undo a claim."""
        return self._end(claim, None, _GIVE_BACK)

    def sweep(self) -> None:
        """Delete what is expired, from the write-ahead log too."""
        super().sweep()
        self._file.truncate_log()

    def purge(self, caller: str, id: str) -> bool:
        """Delete a batch, from the write-ahead log too; return whether there was one."""
        was_there = super().purge(caller, id)
        self._file.truncate_log()
        return was_there

    def close(self) -> None:
        """Close the file. Never raises."""
        self._file.close()

    def _claim(self, session: Session, owner: str) -> Claim | None:
        for batch, idx, host in session.rows(_FIRST):
            lease = new_lease()
            taken = {"batch": batch, "idx": idx, "host": host, "lease": lease, "owner": owner}
            session.change(_TAKE_HOST, seconds=self._lease, gap=self._gap, **taken)
            session.change(_TAKE_ITEM, **taken)
            return Claim(*session.rows(_CLAIM, **taken)[0])
        return None

    def _end(self, claim: Claim, delay: float | None, statement: str, **values: object) -> bool:
        """Let a claim's host go and change its item, both only as far as they still belong to the claim."""

        def end(session: Session) -> bool:
            held = {"batch": claim.batch, "idx": claim.index, "host": claim.host, "lease": claim.lease}
            is_held = session.change(_LET_GO, delay=self._delay(delay), gap=self._gap, **held) > 0
            return is_held and session.change(statement, **held, **values) > 0

        return self._run(end)

    def _run(self, work: Callable[[FileSession], _T], *, writes: bool = True) -> _T:
        return self._file.run(work, writes=writes)
