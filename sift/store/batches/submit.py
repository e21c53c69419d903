"""Keeping a new batch (contract: Store)."""

from __future__ import annotations

import math

from sift.batch.model import ACTIVE_BATCHES, BATCH_SECONDS, Place, Receipt, Submission
from sift.errors import BatchLimitError, IdempotencyError
from sift.store.batches.session import Session
from sift.store.batches.tables import UNFINISHED
from sift.store.batches.upkeep import delete

_RETRY_AFTER = 30  # seconds, at most: a batch may end any moment
_KNOWN = """
SELECT id, total, duplicates, invalid, created_at, expires_at, body, expires_at > :now
FROM sift_batches WHERE caller = :caller AND idempotency_key = :key
"""
_ACTIVE = f"""
SELECT count(DISTINCT b.id), coalesce(min(i.ends_at) - :tick, 0)
FROM sift_batches b JOIN sift_items i ON i.batch = b.id
WHERE b.caller = :caller AND i.{UNFINISHED} AND i.ends_at > :tick
"""
# A caller's items follow those it has waiting; with none waiting they begin where the others' are now, so that
# neither is a newcomer last nor can anybody save up turns.
_TURN = f"""
SELECT coalesce((SELECT min(turn) FROM sift_items WHERE {UNFINISHED}), 0),
    coalesce((SELECT max(i.turn) + 1 FROM sift_items i JOIN sift_batches b ON b.id = i.batch
              WHERE b.caller = :caller AND i.{UNFINISHED}), 0)
"""
_BATCH = """
INSERT INTO sift_batches (id, caller, class, idempotency_key, body, format, max_chars, max_age, total, duplicates,
    invalid, created_at, ttl, expires_at)
VALUES (:id, :caller, :cls, :key, :body, :format, :max_chars, :max_age, :total, :duplicates, :invalid, :now, :ttl,
    :now + :ttl)
RETURNING created_at, expires_at
"""
# The time of use is written also where the host is known: it keeps a sweep from deleting the row meanwhile.
_HOST = """
INSERT INTO sift_hosts (host, used_at) VALUES (:host, :tick)
ON CONFLICT (host) DO UPDATE SET used_at = excluded.used_at
"""
_ITEM = """
INSERT INTO sift_items (batch, idx, host, turn, state, not_before, ends_at)
VALUES (:id, :index, :host, :turn, 'queued', 0, :tick + :seconds)
"""
_PLACE = "INSERT INTO sift_places (batch, idx, item, url) VALUES (:id, :index, :item, :url)"


def submit(session: Session, submission: Submission, id: str) -> Receipt:
    """Keep a batch under a new id, unless the caller's key has made one already.

    Raises BatchLimitError, IdempotencyError.
    """
    session.hold(submission.caller)
    if submission.key and (receipt := _repeat(session, submission)):
        return receipt
    _check_limit(session, submission)
    first, items = _unique(submission.places)
    total, duplicates = len(submission.places), len(submission.places) - len(items)
    ((created_at, expires_at),) = session.rows(
        _BATCH,
        id=id,
        caller=submission.caller,
        cls=submission.cls,
        key=submission.key or None,
        body=submission.body,
        format=submission.format,
        max_chars=submission.max_chars,
        max_age=float(submission.max_age),
        total=total,
        duplicates=duplicates,
        invalid=submission.invalid,
        ttl=float(submission.ttl),
    )
    ((now, mine),) = session.rows(_TURN, caller=submission.caller)
    turn = max(now, mine)
    # In one order for everybody, so that two submissions cannot wait for each other.
    session.many(_HOST, ({"host": host} for host in sorted({place.host for place in items})))
    session.many(
        _ITEM,
        (
            {"id": id, "index": place.index, "host": place.host, "turn": turn + at, "seconds": BATCH_SECONDS}
            for at, place in enumerate(items)
        ),
    )
    session.many(
        _PLACE,
        (
            {"id": id, "index": place.index, "item": first[place.key].index, "url": place.url}
            for place in submission.places
        ),
    )
    return Receipt(id, total, duplicates, submission.invalid, created_at, expires_at)


def _repeat(session: Session, submission: Submission) -> Receipt | None:
    for batch, total, duplicates, invalid, created_at, expires_at, body, is_kept in session.rows(
        _KNOWN, caller=submission.caller, key=submission.key
    ):
        if not is_kept:
            delete(session, [batch])
            return None
        if body != submission.body:
            raise IdempotencyError
        return Receipt(batch, total, duplicates, invalid, created_at, expires_at, replayed=True)
    return None


def _check_limit(session: Session, submission: Submission) -> None:
    ((active, seconds),) = session.rows(_ACTIVE, caller=submission.caller)
    if active >= ACTIVE_BATCHES[submission.cls]:
        raise BatchLimitError(max(1, min(_RETRY_AFTER, math.ceil(seconds))))


def _unique(places: tuple[Place, ...]) -> tuple[dict[str, Place], list[Place]]:
    """Return the first place of each key, and these in their order."""
    first: dict[str, Place] = {}
    for place in places:
        first.setdefault(place.key, place)
    return first, list(first.values())
