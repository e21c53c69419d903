"""What was used, counted beside the credits (contract: Usage)."""

from __future__ import annotations

from sift.store.batches.session import Session
from sift.store.sheet import KINDS, Totals
from sift.store.usage import MAX_DAYS, Used, rows_to_add

_NUMBERS = ", ".join(f"{kind} BIGINT NOT NULL" for kind in KINDS)
TABLES = (
    f"""CREATE TABLE IF NOT EXISTS sift_usage (
        day DATE NOT NULL, source TEXT NOT NULL, {_NUMBERS}, PRIMARY KEY (day, source)
    )""",
    # How much of a sheet is in the counts.
    f"""CREATE TABLE IF NOT EXISTS sift_booked (
        sheet TEXT NOT NULL, source TEXT NOT NULL, day DATE NOT NULL, {_NUMBERS}, PRIMARY KEY (sheet, source)
    )""",
)
_FIRST = "CAST(to_timestamp(:now) AT TIME ZONE 'UTC' AS date) - (CAST(:days AS integer) - 1)"
_ADD = f"""
INSERT INTO sift_usage AS u (day, source, {", ".join(KINDS)})
VALUES (CAST(:day AS date), :source, {", ".join(f":{kind}" for kind in KINDS)})
ON CONFLICT (day, source) DO UPDATE SET {", ".join(f"{kind} = u.{kind} + excluded.{kind}" for kind in KINDS)}
"""
_BOOKED = f"SELECT source, {', '.join(KINDS)} FROM sift_booked WHERE sheet = :sheet"
_BOOK = f"""
INSERT INTO sift_booked (sheet, source, day, {", ".join(KINDS)})
VALUES (:sheet, :source, CAST(:day AS date), {", ".join(f":{kind}" for kind in KINDS)})
ON CONFLICT (sheet, source) DO UPDATE SET {", ".join(f"{kind} = excluded.{kind}" for kind in KINDS)}
"""
_FORGET = tuple(f"DELETE FROM {table} WHERE day < {_FIRST}" for table in ("sift_usage", "sift_booked"))
_READ = f"""
SELECT CAST(day AS text), source, CAST(sum(calls) AS bigint), CAST(sum(credits) AS bigint),
    CAST(sum(by_cache) AS bigint), CAST(sum(by_sharing) AS bigint), CAST(sum(by_cap) AS bigint)
FROM (
    SELECT day, source, calls, credits, 0 AS by_cache, 0 AS by_sharing, 0 AS by_cap FROM sift_spent
    UNION ALL
    SELECT day, source, calls, 0, spared_by_cache, spared_by_sharing, refused_by_cap FROM sift_usage
) AS used WHERE day >= {_FIRST} GROUP BY day, source ORDER BY day DESC, source
"""


def book(session: Session, totals: Totals) -> None:
    """Bring the counts of the database up to a sheet, and drop those too old to be asked for."""
    # Sources in one order for everybody, so that two processes cannot wait for each other.
    new = rows_to_add(totals, session.rows(_BOOKED, sheet=totals.sheet))
    for statement, counts in ((_ADD, new), (_BOOK, totals.counts)):
        named = {source: dict(zip(KINDS, counts[source], strict=True)) for source in new}
        session.many(
            statement, [{"sheet": totals.sheet, "day": totals.day, "source": each, **named[each]} for each in new]
        )
    for statement in _FORGET:
        session.change(statement, days=MAX_DAYS)


def read(session: Session, days: int) -> list[Used]:
    """Return what was used in the last days, the newest first."""
    return [Used(*row) for row in session.rows(_READ, days=days)]
