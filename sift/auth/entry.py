"""Entries of the key file and their text format: pure, strict, and no error quotes the content."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sift.auth.caller import Caller
from sift.search.model import CallerClass

_ID = re.compile(r"[A-Za-z2-7]{8}")
_HASH = re.compile(r"[0-9a-f]{64}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z")
_NEEDED = {"id", "name", "class", "sha256", "created"}
_KNOWN = _NEEDED | {"expires", "disabled"}


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the key file; its repr does not show the hash."""

    id: str
    caller: Caller
    digest: bytes  # SHA-256 of the secret; in the file as lower-case hex
    created: datetime
    expires: datetime | None = None
    disabled: bool = False

    def __repr__(self) -> str:
        return f"Key({self.id!r}, {self.caller!r})"

    def is_usable(self, now: datetime) -> bool:
        """Whether the key is valid at a moment; from `expires` on it is not."""
        return not self.disabled and (self.expires is None or now < self.expires)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as the file holds it."""
        entry: dict[str, Any] = {"id": self.id, "name": self.caller.name, "class": self.caller.cls}
        entry |= {"sha256": self.digest.hex(), "created": format_time(self.created)}
        if self.expires is not None:
            entry["expires"] = format_time(self.expires)
        if self.disabled:
            entry["disabled"] = True
        return entry


def parse_keys(text: str) -> tuple[Key, ...]:
    """Parse the text of a key file; raise ValueError or RecursionError unless all of it is valid (contract: Callers).

    Unknown fields are refused: a misspelt `expires` must not make a key that never expires.
    """
    entries = json.loads(text)
    if not isinstance(entries, list):
        raise ValueError("not a list")
    keys = tuple(map(_key, entries))
    if len({key.id for key in keys}) < len(keys):
        raise ValueError("duplicate id")
    return keys


def format_keys(keys: Iterable[Key]) -> str:
    """Return the text of a key file."""
    return json.dumps([key.as_dict() for key in keys], indent=2) + "\n"


def format_time(moment: datetime) -> str:
    """Return a moment as the key file writes it: ISO 8601, UTC, ending in `Z`."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def is_name(value: object) -> bool:
    """Whether a value may name a caller: 1 to 64 printable characters, not all blank.

    Names appear in the log. Control, bidi and surrogate characters are not printable.
    """
    return isinstance(value, str) and len(value) <= 64 and value.isprintable() and bool(value.strip())


def as_class(value: object) -> CallerClass:
    """Return a value as a caller class; raise ValueError unless it is one."""
    if value == "fleet":
        return "fleet"
    if value == "restricted":
        return "restricted"
    raise ValueError("class")


def _key(entry: object) -> Key:
    if not isinstance(entry, dict) or not _NEEDED <= entry.keys() <= _KNOWN:
        raise ValueError("fields")
    disabled = entry.get("disabled", False)
    if not is_name(entry["name"]) or not isinstance(disabled, bool):
        raise ValueError("name or disabled")
    return Key(
        id=_text(_ID, entry["id"]),
        caller=Caller(entry["name"], as_class(entry["class"])),
        digest=bytes.fromhex(_text(_HASH, entry["sha256"])),
        created=_moment(entry["created"]),
        expires=_moment(entry["expires"]) if "expires" in entry else None,
        disabled=disabled,
    )


def _text(pattern: re.Pattern[str], value: object) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError("form")
    return value


def _moment(value: object) -> datetime:
    return datetime.fromisoformat(_text(_TIME, value))
