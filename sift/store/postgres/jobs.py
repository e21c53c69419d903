"""Batches in PostgreSQL, for all hosts that share it (contract: Store).

What workers do is one statement each, which costs one trip and one commit. Whoever locks rows of both tables locks the
host's first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sift.batch.model import GAP_SECONDS, LEASE_SECONDS, MAX_WAIT, Claim, Outcome
from sift.store.batches.jobs import SqlJobs, new_id, new_lease
from sift.store.batches.session import Session
from sift.store.batches.tables import UNFINISHED
from sift.store.postgres.database import Database

_T = TypeVar("_T")

# Both rows are locked, so that what is chosen is as it is now and not as it was when the statement began; whatever
# somebody else has locked is somebody else's. Also an item that runs may be chosen: the row of its host is free.
_CLAIM = f"""
WITH chosen AS (
    SELECT i.batch, i.idx, h.host FROM sift_items i JOIN sift_hosts h ON h.host = i.host
    WHERE i.{UNFINISHED} AND i.not_before <= :tick AND i.ends_at > :tick AND h.next_at <= :tick
    ORDER BY i.turn, i.batch, i.idx LIMIT 1 FOR UPDATE OF h, i SKIP LOCKED
), held AS (
    UPDATE sift_hosts h SET owner = :owner, lease = :lease, batch = c.batch, idx = c.idx,
        lease_until = :tick + :seconds, next_at = :tick + :seconds + greatest(:gap, h.delay), used_at = :tick
    FROM chosen c WHERE h.host = c.host RETURNING h.host
), taken AS (
    UPDATE sift_items i SET state = 'running', attempts = i.attempts + 1, lease = :lease
    FROM chosen c JOIN held ON held.host = c.host WHERE i.batch = c.batch AND i.idx = c.idx RETURNING i.*
)
SELECT t.batch, t.idx, p.url, t.host, b.caller, b.class, b.format, b.max_chars, b.max_age, t.attempts, t.lease,
    t.ends_at - :tick
FROM taken t JOIN sift_batches b ON b.id = t.batch JOIN sift_places p ON p.batch = t.batch AND p.idx = t.idx
"""
_RENEW = """
UPDATE sift_hosts h SET lease_until = :tick + :seconds, next_at = :tick + :seconds + greatest(:gap, h.delay),
    used_at = :tick
WHERE h.host = :host AND h.owner = :owner
AND EXISTS (SELECT 1 FROM sift_items i WHERE i.batch = h.batch AND i.idx = h.idx AND i.lease = h.lease
            AND i.state = 'running' AND i.ends_at > :tick)
"""
_LET_GO = """
WITH free AS (
    UPDATE sift_hosts h SET owner = NULL, lease = NULL, batch = NULL, lease_until = 0,
        delay = coalesce(:delay, h.delay), next_at = :tick + greatest(:gap, coalesce(:delay, h.delay)), used_at = :tick
    WHERE h.host = :host AND h.lease = :lease RETURNING h.host
)
"""
_HELD = """FROM (SELECT count(*) AS hosts FROM free) AS freed
WHERE freed.hosts = 1 AND i.batch = :batch AND i.idx = :idx AND i.state = 'running' AND i.lease = :lease
AND i.ends_at > :tick
"""
_FINISH = f"""{_LET_GO}
UPDATE sift_items i SET state = :state, error = :error, hint = :hint, result = :result, size = :size, lease = NULL,
    finished_at = :now {_HELD}
"""
_RETRY = f"{_LET_GO} UPDATE sift_items i SET state = 'queued', lease = NULL, not_before = :tick + :seconds {_HELD}"
_GIVE_BACK = f"{_LET_GO} UPDATE sift_items i SET state = 'queued', lease = NULL, attempts = i.attempts - 1 {_HELD}"


class PostgresJobs(SqlJobs):
    """Keep batches in a database."""

    def __init__(
        self,
        database: Database,
        *,
        gap: float = GAP_SECONDS,
        lease: float = LEASE_SECONDS,
        ids: Callable[[], str] = new_id,
    ) -> None:
        super().__init__(gap, lease, ids)
        self._database = database

    def claim(self, owner: str) -> Claim | None:
        """Take a free host and the first item that waits for it, None when there is none."""
        lease = new_lease()
        found = self._database.run(
            lambda session: session.rows(_CLAIM, owner=owner, lease=lease, seconds=self._lease, gap=self._gap),
            is_one=True,
        )
        return next((Claim(*row) for row in found), None)

    def renew(self, owner: str, host: str) -> bool:
        """Extend the lease of a claim; return whether it is still wanted."""
        return self._change(_RENEW, owner=owner, host=host, seconds=self._lease, gap=self._gap)

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
        return self._end(claim, delay, _RETRY, seconds=min(max(float(not_before), 0.0), MAX_WAIT))

    def give_back(self, claim: Claim) -> bool:
        """Undo a claim."""
        return self._end(claim, None, _GIVE_BACK)

    def _end(self, claim: Claim, delay: float | None, statement: str, **values: object) -> bool:
        """Let a claim's host go and change its item, both only as far as they still belong to the claim."""
        held = {"batch": claim.batch, "idx": claim.index, "host": claim.host, "lease": claim.lease}
        return self._change(statement, delay=self._delay(delay), gap=self._gap, **held, **values)

    def _change(self, statement: str, **values: object) -> bool:
        return self._database.run(lambda session: session.change(statement, **values) > 0, is_one=True)

    def _run(self, work: Callable[[Session], _T], *, writes: bool = True) -> _T:
        return self._database.run(work, is_one=not writes)
