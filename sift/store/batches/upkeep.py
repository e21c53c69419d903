"""Ending and deleting batches, and setting right what clocks have left (contract: Store)."""

from __future__ import annotations

from collections.abc import Iterable

from sift.batch.model import BATCH_SECONDS, LEASE_SECONDS, MAX_DELAY, MAX_WAIT, OVERDUE
from sift.store.batches.session import Session
from sift.store.batches.tables import OPEN, UNFINISHED

_IDLE_HOST = 60.0  # seconds without use after which a host is forgotten; its crawl delay with it
_SLACK = 1.0

_LOCK = "SELECT id FROM sift_batches WHERE id = :id AND caller = :caller AND expires_at > :now"
_LOCK_ANY = "SELECT id FROM sift_batches WHERE id = :id"
_CANCEL_ITEMS = f"""
UPDATE sift_items SET state = 'cancelled', lease = NULL, finished_at = :now WHERE batch = :id AND state IN {OPEN}
"""
_CANCEL = "UPDATE sift_batches SET cancelled_at = :now WHERE id = :id"
_OVERDUE = f"SELECT DISTINCT batch FROM sift_items WHERE {UNFINISHED} AND ends_at <= :tick ORDER BY batch"
_END_OVERDUE = f"""
UPDATE sift_items SET state = 'failed', error = :error, hint = :hint, lease = NULL, finished_at = :now
WHERE batch = :id AND state IN {OPEN} AND ends_at <= :tick
"""
_DELETE = tuple(
    f"DELETE FROM {table} WHERE {column} = :id"
    for table, column in (("sift_places", "batch"), ("sift_items", "batch"), ("sift_batches", "id"))
)
_EXPIRED = "SELECT id FROM sift_batches WHERE expires_at <= :now ORDER BY id"
# Times that no step of ours can have written are from a clock that was ahead. A lease is given its whole time anew:
# whoever holds it is still there, perhaps, and renews.
_SET_RIGHT = (
    "UPDATE sift_hosts SET lease_until = :tick + :lease, next_at = :tick + :rest "
    "WHERE next_at > :tick + :rest + :slack",
    "UPDATE sift_hosts SET used_at = :tick WHERE used_at > :tick + :slack",
    f"UPDATE sift_items SET not_before = :tick + :wait WHERE {UNFINISHED} AND not_before > :tick + :wait + :slack",
    f"UPDATE sift_items SET ends_at = :tick + :seconds WHERE {UNFINISHED} AND ends_at > :tick + :seconds + :slack",
    "UPDATE sift_batches SET expires_at = :now + ttl WHERE expires_at > :now + ttl + :slack",
)
_FORGET_HOSTS = f"""
DELETE FROM sift_hosts WHERE next_at <= :tick AND used_at <= :tick - :idle
AND host NOT IN (SELECT i.host FROM sift_items i WHERE i.{UNFINISHED})
"""


def cancel(session: Session, caller: str, id: str) -> bool:
    """End what is left of a caller's batch; return whether there is one."""
    if not session.rows(_LOCK + session.locks, caller=caller, id=id):
        return False
    end_overdue(session, id)
    if session.change(_CANCEL_ITEMS, id=id):
        session.change(_CANCEL, id=id)
    return True


def purge(session: Session, caller: str, id: str) -> bool:
    """Delete a caller's batch; return whether there was one."""
    if not session.rows(_LOCK + session.locks, caller=caller, id=id):
        return False
    delete(session, [id])
    return True


def end_overdue(session: Session, id: str) -> None:
    """Let the open items of a batch fail whose time is over."""
    session.rows(_LOCK_ANY + session.locks, id=id)
    error, hint = OVERDUE
    session.change(_END_OVERDUE, id=id, error=error, hint=hint)


def sweep(session: Session) -> None:
    """Set times right, end what is overdue, delete what is expired, forget hosts that nobody waits for."""
    times = {
        "lease": LEASE_SECONDS,
        "rest": LEASE_SECONDS + MAX_DELAY,
        "wait": MAX_WAIT,
        "seconds": BATCH_SECONDS,
        "slack": _SLACK,
    }
    for statement in _SET_RIGHT:
        session.change(statement, **times)
    for (batch,) in session.rows(_OVERDUE):
        end_overdue(session, batch)
    delete(session, [batch for (batch,) in session.rows(_EXPIRED + session.locks)])
    session.change(_FORGET_HOSTS, idle=_IDLE_HOST)


def delete(session: Session, ids: Iterable[str]) -> None:
    """Delete batches with everything in them."""
    for batch in ids:
        for statement in _DELETE:
            session.change(statement, id=batch)
