"""What callers read of their batches (contract: Store)."""

from __future__ import annotations

from typing import NamedTuple

from sift.batch.model import BatchState, BatchStatus, Ended, Only, PlaceResult, ResultPage
from sift.store.batches.session import Row, Session
from sift.store.batches.tables import OPEN

# Counted afresh each time: a counter would be wrong for ever after one kill.
_STATUS = f"""
SELECT b.id, b.caller, b.cancelled_at, b.created_at, b.expires_at, b.total,
    count(CASE WHEN i.state = 'ok' THEN 1 END), count(CASE WHEN i.state = 'failed' THEN 1 END),
    count(CASE WHEN i.state IN {OPEN} THEN 1 END), count(CASE WHEN i.attempts > 0 THEN 1 END),
    count(CASE WHEN i.state IN {OPEN} AND i.ends_at <= :tick THEN 1 END), max(i.finished_at)
FROM sift_batches b JOIN sift_places p ON p.batch = b.id JOIN sift_items i ON i.batch = p.batch AND i.idx = p.item
WHERE {{}} GROUP BY b.id ORDER BY b.created_at DESC, b.id
"""
_ONE = _STATUS.format("b.id = :id AND b.caller = :caller AND b.expires_at > :now")
_OWN = _STATUS.format("b.caller = :caller AND b.expires_at > :now")
_ANY = _STATUS.format("b.id = :id")
_COLUMNS = "p.idx, p.url, i.state, i.attempts, i.error, i.hint, i.finished_at"
_PLACES = "FROM sift_places p JOIN sift_items i ON i.batch = p.batch AND i.idx = p.item WHERE p.batch = :id"
_PAGE = f"""
SELECT idx, url, state, attempts, error, hint, finished_at, result, fetched FROM (
    SELECT part.*, sum(size) OVER (ORDER BY idx) AS upto, row_number() OVER (ORDER BY idx) AS nth,
        count(*) OVER () AS fetched
    FROM (SELECT {_COLUMNS}, i.result, i.size {_PLACES} {{}} ORDER BY p.idx LIMIT :limit OFFSET :offset) AS part
) AS sized WHERE upto <= :size OR nth = 1 ORDER BY idx
"""
_PAGES: dict[Only, str] = {
    "": _PAGE.format(""),
    "ok": _PAGE.format("AND i.state = 'ok'"),
    "failed": _PAGE.format("AND i.state = 'failed'"),
}
_FAILED = f"SELECT {_COLUMNS} {_PLACES} AND i.state = 'failed' ORDER BY p.idx"
_END = f"""
UPDATE sift_batches SET told = 1
WHERE told = 0 AND NOT EXISTS (SELECT 1 FROM sift_items i WHERE i.batch = sift_batches.id AND i.state IN {OPEN})
RETURNING id
"""


class Numbers(NamedTuple):
    """A batch in numbers; and whether its time is over with items still open, which are then to be ended first."""

    status: BatchStatus
    is_overdue: bool
    caller: str


def numbers(session: Session, caller: str, id: str) -> Numbers | None:
    """Return a caller's batch in numbers, None if there is none."""
    return next(map(_numbers, session.rows(_ONE, caller=caller, id=id)), None)


def own(session: Session, caller: str) -> list[Numbers]:
    """Return all batches of a caller in numbers, the newest first."""
    return [_numbers(row) for row in session.rows(_OWN, caller=caller)]


def page(session: Session, status: BatchStatus, offset: int, limit: int, only: Only, size: int) -> ResultPage:
    """Return some places of a batch, with results of `size` bytes at most unless the first is longer."""
    # One more than wanted tells whether there are more.
    rows = session.rows(_PAGES[only], id=status.id, offset=offset, limit=limit + 1, size=size)
    items = tuple(_place(row[:7], row[7]) for row in rows[:limit])
    has_more = bool(rows) and rows[0][8] > len(items)
    return ResultPage(status.id, status.state, items, offset + len(items) if has_more else None)


def errors(session: Session, id: str) -> tuple[PlaceResult, ...]:
    """Return the places of a batch that failed."""
    return tuple(_place(row) for row in session.rows(_FAILED, id=id))


def ended(session: Session) -> tuple[Ended, ...]:
    """Return the batches that have ended since somebody asked, each once."""
    found = [_numbers(row) for (batch,) in session.rows(_END) for row in session.rows(_ANY, id=batch)]
    return tuple(
        Ended(
            caller,
            status.total,
            status.ok,
            status.failed,
            max(0, round(((status.finished_at or status.created_at) - status.created_at) * 1000)),
        )
        for status, _, caller in found
    )


def _numbers(row: Row) -> Numbers:
    batch, caller, cancelled_at, created_at, expires_at, total, ok, failed, open_, started, overdue, finished_at = row
    state: BatchState
    if cancelled_at is not None:
        state, finished_at = "cancelled", cancelled_at
    elif not open_:
        state = "done"
    else:
        state, finished_at = "running" if started or open_ < total else "queued", None
    return Numbers(
        BatchStatus(batch, state, total, ok, failed, created_at, expires_at, finished_at), overdue > 0, caller
    )


def _place(row: Row, result: object = None) -> PlaceResult:
    index, url, state, attempts, error, hint, at = row
    body = bytes(result) if isinstance(result, bytes | memoryview) else None
    return PlaceResult(index, url, state, attempts, error, hint, body, at)
