"""What was used, counted beside the credits (contract: Usage)."""

from __future__ import annotations

from sift.store.batches.session import Session
from sift.store.usage import MAX_DAYS, Counts, Used

_KINDS = ("calls", "spared_by_cache", "spared_by_sharing", "refused_by_cap")
TABLE = f"""CREATE TABLE IF NOT EXISTS sift_usage (
    day DATE NOT NULL, source TEXT NOT NULL, {", ".join(f"{kind} BIGINT NOT NULL" for kind in _KINDS)},
    PRIMARY KEY (day, source)
)"""
_FIRST = "CAST(to_timestamp(:now) AT TIME ZONE 'UTC' AS date) - (CAST(:days AS integer) - 1)"
_ADD = f"""
INSERT INTO sift_usage AS u (day, source, {", ".join(_KINDS)})
VALUES (CAST(:day AS date), :source, {", ".join(f":{kind}" for kind in _KINDS)})
ON CONFLICT (day, source) DO UPDATE SET {", ".join(f"{kind} = u.{kind} + excluded.{kind}" for kind in _KINDS)}
"""
_FORGET = f"DELETE FROM sift_usage WHERE day < {_FIRST}"
_READ = f"""
SELECT CAST(day AS text), source, CAST(sum(calls) AS bigint), CAST(sum(credits) AS bigint),
    CAST(sum(by_cache) AS bigint), CAST(sum(by_sharing) AS bigint), CAST(sum(by_cap) AS bigint)
FROM (
    SELECT day, source, calls, credits, 0 AS by_cache, 0 AS by_sharing, 0 AS by_cap FROM sift_spent
    UNION ALL
    SELECT day, source, calls, 0, spared_by_cache, spared_by_sharing, refused_by_cap FROM sift_usage
) AS used WHERE day >= {_FIRST} GROUP BY day, source ORDER BY day DESC, source
"""


def add(session: Session, counts: Counts) -> None:
    """Add counts to those of the database, and drop those too old to be asked for."""
    rows: dict[tuple[str, str], dict[str, int]] = {}
    for (day, source, kind), count in counts.items():
        rows.setdefault((day, source), dict.fromkeys(_KINDS, 0))[kind] = count
    # In one order for everybody, so that two processes cannot wait for each other.
    session.many(_ADD, [{"day": day, "source": source, **rows[day, source]} for day, source in sorted(rows)])
    session.change(_FORGET, days=MAX_DAYS)


def read(session: Session, days: int) -> list[Used]:
    """Return what was used in the last days, the newest first."""
    return [Used(*row) for row in session.rows(_READ, days=days)]
