"""The tables of batches, in the words that SQLite and PostgreSQL share."""

from __future__ import annotations

OPEN = "('queued', 'running')"
"""The states of an item that is not through. An item runs as long as its host's row has the same lease, and no longer;
so nobody needs to set back what a killed worker has left."""
UNFINISHED = "finished_at IS NULL"
"""The same items, in the words of the index of those that wait. A claim changes no column that an index names: in
PostgreSQL it would else be a new entry in every one."""

TABLES = (
    """CREATE TABLE IF NOT EXISTS sift_batches (
        id TEXT PRIMARY KEY, caller TEXT NOT NULL, class TEXT NOT NULL,
        idempotency_key TEXT, body TEXT NOT NULL,
        format TEXT NOT NULL, max_chars BIGINT NOT NULL, max_age DOUBLE PRECISION NOT NULL,
        total BIGINT NOT NULL, duplicates BIGINT NOT NULL, invalid TEXT NOT NULL,
        created_at DOUBLE PRECISION NOT NULL, ttl DOUBLE PRECISION NOT NULL, expires_at DOUBLE PRECISION NOT NULL,
        cancelled_at DOUBLE PRECISION, told INTEGER NOT NULL DEFAULT 0
    )""",
    "CREATE UNIQUE INDEX IF NOT EXISTS sift_batches_key ON sift_batches (caller, idempotency_key)",
    "CREATE INDEX IF NOT EXISTS sift_batches_expiry ON sift_batches (expires_at)",
    "CREATE INDEX IF NOT EXISTS sift_batches_untold ON sift_batches (id) WHERE told = 0",
    # turn: whose item is next; the callers' items interleave. ends_at, not_before: ticks.
    """CREATE TABLE IF NOT EXISTS sift_items (
        batch TEXT NOT NULL, idx BIGINT NOT NULL, host TEXT NOT NULL, turn BIGINT NOT NULL,
        state TEXT NOT NULL, attempts BIGINT NOT NULL DEFAULT 0, lease TEXT,
        not_before DOUBLE PRECISION NOT NULL, ends_at DOUBLE PRECISION NOT NULL,
        error TEXT NOT NULL DEFAULT '', hint TEXT NOT NULL DEFAULT '',
        result BYTEA, size BIGINT NOT NULL DEFAULT 0, finished_at DOUBLE PRECISION,
        PRIMARY KEY (batch, idx)
    )""",
    f"CREATE INDEX IF NOT EXISTS sift_items_turn ON sift_items (turn, batch, idx) WHERE {UNFINISHED}",
    f"CREATE INDEX IF NOT EXISTS sift_items_host ON sift_items (host, not_before) WHERE {UNFINISHED}",
    # item: the index of the place whose fetch answers this one.
    """CREATE TABLE IF NOT EXISTS sift_places (
        batch TEXT NOT NULL, idx BIGINT NOT NULL, item BIGINT NOT NULL, url TEXT NOT NULL, PRIMARY KEY (batch, idx)
    )""",
    # next_at: from when the host may be visited again, also if its owner never lets it go. batch, idx: the item that is
    # visited. All times in ticks.
    """CREATE TABLE IF NOT EXISTS sift_hosts (
        host TEXT PRIMARY KEY, owner TEXT, lease TEXT, batch TEXT, idx BIGINT,
        lease_until DOUBLE PRECISION NOT NULL DEFAULT 0, next_at DOUBLE PRECISION NOT NULL DEFAULT 0,
        delay DOUBLE PRECISION NOT NULL DEFAULT 0,
        used_at DOUBLE PRECISION NOT NULL
    )""",
)
