"""Creating, listing and revoking keys: the operations of `sift key` on the key file.

Secrets are never stored, only their SHA-256. No error shows a token, a secret or a hash.
"""

from __future__ import annotations

import base64
import re
import secrets
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from sift.auth.caller import CLASSES, Caller
from sift.auth.entry import Key, as_class, is_name
from sift.auth.keystore import locked, read_keys, write_keys
from sift.errors import SiftError

_SPAN = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_MAX_SPAN = timedelta(days=3650)


class KeyArgumentError(SiftError):
    """Raised when an argument of an operation on the keys is wrong; the file is then unchanged.

    argument: `name`, `class`, `expires` or `id`. reason: what it must be.
    """

    def __init__(self, argument: str, reason: str) -> None:
        super().__init__(f"{argument}: {reason}")
        self.argument = argument
        self.reason = reason


def new_key(path: Path, name: str, cls: str, expires: str | None, now: datetime) -> str:
    """Add a key and return its token, which is stored nowhere.

    expires: a span such as `90d`. Raises KeyArgumentError, or ConfigError for an unusable file, before anything is
    written.
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
    """Return all keys in the file's order; a missing file holds none. Raises ConfigError for an unusable one."""
    try:
        path.stat()
    except FileNotFoundError:
        return ()
    except OSError:
        pass  # read_keys reports it
    return read_keys(path)


def revoke(path: Path, key_id: str) -> Key:
    """Disable a key and return it; its entry stays in the list. Revoking a key twice is not an error.

    Raises KeyArgumentError for an unknown id and ConfigError for an unusable file, which is then unchanged.
    """
    if not path.parent.is_dir():
        raise KeyArgumentError("id", "no such key")
    with locked(path):
        keys = list_keys(path)
        found = next((key for key in keys if key.id == key_id), None)
        if found is None:
            raise KeyArgumentError("id", "no such key")
        if found.disabled:
            return found
        revoked = replace(found, disabled=True)
        write_keys(path, tuple(revoked if key is found else key for key in keys))
        return revoked


def _caller(name: str, cls: str) -> Caller:
    if not is_name(name):
        raise KeyArgumentError("name", "1 to 64 printable characters")
    try:
        return Caller(name, as_class(cls))
    except ValueError:
        raise KeyArgumentError("class", " or ".join(CLASSES)) from None


def _span(text: str) -> timedelta:
    match = _SPAN.fullmatch(text)
    span = int(match[1]) * _UNITS[match[2]] if match else _MAX_SPAN + timedelta(1)
    if span > _MAX_SPAN:
        raise KeyArgumentError(
            "expires", "a whole number of hours, days or weeks such as 12h, 90d or 4w, at most 3650d"
        )
    return span
