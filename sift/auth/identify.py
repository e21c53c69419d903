"""Identification of callers by a key file that is checked for changes as requests come.

No error and no log record shows a token, a secret or a hash.
"""

from __future__ import annotations

import hmac
import logging
import os
import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from sift.auth.caller import Caller
from sift.auth.entry import Key
from sift.auth.keystore import KeyFileError, read_keys
from sift.errors import ConfigError, UnauthorizedError

# Secrets may contain "_", so only the first two underscores separate the parts of a token.
_BEARER = re.compile(r"(?i:bearer)[ \t]+sift_([A-Za-z2-7]{8})_([A-Za-z0-9_-]{43})[ \t]*", re.ASCII)
_NO_MATCH = ("", "")

LOOK_EVERY = 0.002
"""Seconds between checks of the file. Checking on every request would cost a system call, and so the GIL, every time.
No `sift key` command completes in less."""
RETRY_EVERY = 1.0
"""Seconds between attempts to read a file that could not be used: not every cure changes its status."""
REPORT_EVERY = 60.0
"""Seconds between log records on a file that cannot be used."""
KEEP_FOR = 600.0
"""Seconds for which the keys read before outlive a file that cannot be used: some may have been revoked meanwhile."""

_log = logging.getLogger("sift.auth")

# Unknown ids are compared with this key: it is disabled, and no secret is known to have its digest.
_DUMMY = Key("", Caller("", "restricted"), bytes(32), datetime(1970, 1, 1, tzinfo=UTC), disabled=True)


class _Outage(NamedTuple):
    """A time in which the file cannot be used; all in seconds of the monotonic clock."""

    since: float
    next_read: float
    next_report: float


class _Held(NamedTuple):
    stamp: tuple[int, ...] | None
    keys: dict[str, Key]
    outage: _Outage | None = None


class KeyFile:
    """The callers of a key file, which is reread when it changes. Thread-safe.

    A process forked from one that has read the file starts with the keys read there, even if the file is now unusable.

    now: the current UTC time. clock: a monotonic clock in seconds.
    """

    def __init__(
        self,
        path: Path,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        clock: Callable[[], float] = time.monotonic,
        look_every: float = LOOK_EVERY,
    ) -> None:
        self._path = path
        self._stat_path = os.fspath(path)
        self._now = now
        self._clock = clock
        self._lock = threading.Lock()
        self._held = _Held((), {})
        self._look_every = look_every
        self._next_look = 0.0

    def check(self) -> None:
        """Read the file, at the first start; raise ConfigError unless it is valid, private and holds a usable key."""
        with self._lock:
            stamp = self._stamp()
            keys = read_keys(self._path)
            self._held = _Held(stamp, {key.id: key for key in keys})
        now = self._now()
        if not any(key.is_usable(now) for key in keys):
            raise ConfigError("SIFT_KEYS_FILE: no key in it is usable")

    def follow(self) -> None:
        """Reread the file if it has changed, as `identify` does; never raise. For a process about to fork workers."""
        with self._lock:
            self._follow(self._clock())

    def identify(self, authorization: str | None) -> Caller:
        """Return the caller of an Authorization header; raise UnauthorizedError, whatever the reason, otherwise.

        Unknown and malformed tokens take the same path as known ones, so that timing reveals nothing.
        """
        keys = self._current()
        match = _BEARER.fullmatch(authorization or "")
        key_id, secret = match.groups() if match else _NO_MATCH
        key = keys.get(key_id, _DUMMY)
        # Bytes, because compare_digest raises on a str that is not ASCII.
        known = hmac.compare_digest(sha256(secret.encode()).digest(), key.digest)
        usable = key.is_usable(self._now())
        if not (known and usable):
            raise UnauthorizedError("unauthorized")
        return key.caller

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._stat_path)  # noqa: PTH116 - on the request path, and cheaper than Path.stat
        except OSError:
            return None
        # The change time, too: chmod alone repairs or breaks a file.
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino

    def _current(self) -> dict[str, Key]:
        held = self._held
        asked = self._clock()
        if asked < self._next_look:
            return held.keys
        self._next_look = asked + self._look_every
        if held.outage is None and self._stamp() == held.stamp:
            return held.keys
        with self._lock:
            self._follow(asked)
            return self._held.keys

    def _follow(self, asked: float) -> None:
        held = self._held
        stamp = self._stamp()  # before reading: a change in between is seen at the next check
        if stamp == held.stamp and (held.outage is None or asked < held.outage.next_read):
            return
        try:
            self._held = _Held(stamp, {key.id: key for key in read_keys(self._path)})
        except KeyFileError as error:
            outage = held.outage or _Outage(asked, asked, asked)
            keys = held.keys if asked - outage.since < KEEP_FOR else {}
            if stamp != held.stamp or asked >= outage.next_report or bool(keys) != bool(held.keys):
                fields = {"reason": error.reason, "keys": "kept" if keys else "none"}
                _log.error("key_file_unusable", extra={"fields": fields})
                outage = outage._replace(next_report=asked + REPORT_EVERY)
            self._held = _Held(stamp, keys, outage._replace(next_read=asked + RETRY_EVERY))
