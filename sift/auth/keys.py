"""The key file: who may call, read by the service on every request and written by `sift key` (contract §3).

Secrets are never stored, only their SHA-256; no error and no log record here shows a token, a secret or a hash.
"""

from __future__ import annotations

import base64
import hmac
import logging
import os
import re
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from sift.auth.caller import Caller
from sift.auth.entry import Key, as_class, is_name
from sift.auth.keystore import locked, read_keys, write_keys
from sift.errors import ConfigError, SiftError, UnauthorizedError

MAKE_A_KEY = "sift key new --name NAME --class CLASS"

# The secret's own alphabet holds "_", so only the two first underscores divide a token.
_BEARER = re.compile(r"(?i:bearer)[ \t]+sift_([A-Za-z2-7]{8})_([A-Za-z0-9_-]{43})[ \t]*", re.ASCII)
_SPAN = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_MAX_SPAN = timedelta(days=3650)
_NO_MATCH = ("", "")

LOOK_EVERY = 0.002
"""Seconds between two looks at the file. One a request was 45 of the 190 µs of a cached search at 16 threads, as each
system call has a thread give up the interpreter and win it back; no `sift key` ends in less."""

_log = logging.getLogger("sift.auth")


class KeyOptionError(SiftError):
    """Say which argument of a `sift key` command is wrong, and why; the file is then untouched."""

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(f"{option}: {reason}")
        self.option = option
        self.reason = reason


# Unknown ids are compared with this one: it is off, and no secret is known to have this digest.
_DUMMY = Key("", Caller("", "restricted"), bytes(32), datetime(1970, 1, 1, tzinfo=UTC), disabled=True)


class _Held(NamedTuple):
    stamp: tuple[int, ...] | None
    keys: dict[str, Key]


class KeyFile:
    """Know the callers of a key file, and follow the file when it changes. Safe to share between threads."""

    def __init__(
        self, path: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC), look_every: float = LOOK_EVERY
    ) -> None:
        self._path = path
        self._stat_path = os.fspath(path)
        self._now = now
        self._lock = threading.Lock()
        self._held = _Held((), {})
        self._look_every = look_every
        self._next_look = 0.0  # time.monotonic() seconds

    def check(self) -> None:
        """Read the file; raise ConfigError unless it is sound, private and holds a usable key (fails closed)."""
        with self._lock:
            stamp = self._stamp()
            try:
                keys = read_keys(self._path)
            except ConfigError as error:
                raise ConfigError(f"{error}; this command makes a key: {MAKE_A_KEY}") from None
            self._held = _Held(stamp, {key.id: key for key in keys})
        now = self._now()
        if not any(key.is_usable(now) for key in keys):
            raise ConfigError(f"SIFT_KEYS_FILE: no key in it is usable; this command makes one: {MAKE_A_KEY}")

    def identify(self, authorization: str | None) -> Caller:
        """Give the caller of an Authorization header; raise UnauthorizedError, the same for every reason.

        Unknown and malformed ones do the work of known ones, so that the time taken tells nothing.
        """
        keys = self._current()
        match = _BEARER.fullmatch(authorization or "")
        key_id, secret = match.groups() if match else _NO_MATCH
        key = keys.get(key_id, _DUMMY)
        # Bytes: compare_digest raises on a str that is not ASCII.
        known = hmac.compare_digest(sha256(secret.encode()).digest(), key.digest)
        usable = key.is_usable(self._now())
        if not (known and usable):
            raise UnauthorizedError("unauthorized")
        return key.caller

    def _stamp(self) -> tuple[int, ...] | None:
        try:
            found = os.stat(self._stat_path)  # noqa: PTH116 - on every request, and three times as fast as Path.stat
        except OSError:
            return None
        # The change time too: chmod alone repairs or breaks a file.
        return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino

    def _current(self) -> dict[str, Key]:
        held = self._held
        asked = time.monotonic()
        if asked < self._next_look:
            return held.keys
        self._next_look = asked + self._look_every
        if self._stamp() == held.stamp:
            return held.keys
        with self._lock:
            stamp = self._stamp()  # before reading: a change in between is seen by the next request
            if stamp != self._held.stamp:
                self._held = _Held(stamp, self._reread())
            return self._held.keys

    def _reread(self) -> dict[str, Key]:
        try:
            return {key.id: key for key in read_keys(self._path)}
        except ConfigError:
            _log.warning("the changed key file cannot be used, the keys read before stay in force")
            return self._held.keys


def new_key(path: Path, name: str, cls: str, expires: str | None, now: datetime) -> str:
    """Add a key and give its token, which is stored nowhere.

    expires: a span such as `90d`. Raises KeyOptionError, or ConfigError when the file there cannot be used, before
    anything is written.
    """
    caller = _caller(name, cls)
    created = now.astimezone(UTC).replace(microsecond=0)
    until = None if expires is None else created + _span(expires)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(path):
        keys = list_keys(path)
        taken = {key.id for key in keys}
        while (key_id := base64.b32encode(secrets.token_bytes(5)).decode().lower()) in taken:
            pass
        secret = secrets.token_urlsafe(32)
        digest = sha256(secret.encode()).digest()
        write_keys(path, (*keys, Key(key_id, caller, digest, created, until)))
    return f"sift_{key_id}_{secret}"


def list_keys(path: Path) -> tuple[Key, ...]:
    """Give all keys in the file's order; a file that is not there holds none. Raises ConfigError for a broken one."""
    try:
        path.stat()
    except FileNotFoundError:
        return ()
    except OSError:
        pass  # reading will say so
    return read_keys(path)


def revoke(path: Path, key_id: str) -> Key:
    """Disable a key and give it; its entry stays, so that the list tells what it was. Twice is no error.

    Raises KeyOptionError for an unknown id and ConfigError for a broken file; the file is then untouched.
    """
    if not path.parent.is_dir():
        raise KeyOptionError("ID", "no such key")
    with locked(path):
        keys = list_keys(path)
        found = next((key for key in keys if key.id == key_id), None)
        if found is None:
            raise KeyOptionError("ID", "no such key")
        if found.disabled:
            return found
        revoked = replace(found, disabled=True)
        write_keys(path, tuple(revoked if key is found else key for key in keys))
        return revoked


def _caller(name: str, cls: str) -> Caller:
    if not is_name(name):
        raise KeyOptionError("--name", "1 to 64 printable characters")
    try:
        return Caller(name, as_class(cls))
    except ValueError:
        raise KeyOptionError("--class", "restricted or fleet") from None


def _span(text: str) -> timedelta:
    match = _SPAN.fullmatch(text)
    span = int(match[1]) * _UNITS[match[2]] if match else _MAX_SPAN + timedelta(1)
    if span > _MAX_SPAN:
        raise KeyOptionError(
            "--expires", "a whole number of hours, days or weeks such as 12h, 90d or 4w, at most 3650d"
        )
    return span
