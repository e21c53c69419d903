"""The file of the callers' keys, as the service's user finds it (contract: Doctor, Callers)."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from sift.auth.entry import Key
from sift.auth.keystore import MISSING, KeyFileError, read_keys
from sift.findings import Finding, caution, fail, ok

CHECK = "keys"
SOON = timedelta(days=14)
_NEW = "sift key new --name NAME --class CLASS"


class SeenKeys(NamedTuple):
    """A key file. refusal: why it cannot be used, "" if it can. owner, mode: None where it cannot be reached."""

    keys: tuple[Key, ...] = ()
    refusal: str = ""
    owner: int | None = None
    mode: int | None = None


def look_at_keys(path: Path) -> SeenKeys:
    """Read a key file with the rights that this process has now."""
    owner: int | None = None
    mode: int | None = None
    with suppress(OSError):
        found = path.stat()
        owner, mode = found.st_uid, stat.S_IMODE(found.st_mode)
    try:
        return SeenKeys(read_keys(path), "", owner, mode)
    except KeyFileError as error:
        return SeenKeys((), error.reason, owner, mode)


def check_keys(seen: SeenKeys, user: int, user_name: str, shown: str, now: datetime) -> list[Finding]:
    """Return what is wrong with a key file.

    user: whom the service runs as. shown: the file in a command.
    """
    if seen.refusal:
        return [fail(CHECK, f"the key file {seen.refusal}", _cure(seen, user, user_name, shown))]
    if seen.owner != user:  # readable by rights that the service may not have
        return [
            fail(CHECK, f"the key file is not of user {user_name}, whom the service runs as", _own(user_name, shown))
        ]
    usable = [key for key in seen.keys if key.is_usable(now)]
    if not usable:
        return [fail(CHECK, f"no key of {len(seen.keys)} is usable: the service does not start", _NEW)]
    return [ok(CHECK, f"{_keys(len(usable))} usable, and the file is private"), *_expiring(usable, now)]


def _cure(seen: SeenKeys, user: int, user_name: str, shown: str) -> str:
    if seen.refusal == MISSING:
        return f"as user {user_name}: {_NEW}"
    if seen.owner is None:
        return f"give user {user_name} the directory of the key file, with mode 0700"
    if seen.owner != user:
        return _own(user_name, shown)
    if seen.mode is not None and (seen.mode & ~0o600 or not seen.mode & 0o400):
        return f"chmod 600 {shown}"
    return f"put a good copy in its place, or move it away and make keys anew: {_NEW}"


def _own(user_name: str, shown: str) -> str:
    return f"chown {user_name} {shown}; run sift key as that user"


def _expiring(usable: Sequence[Key], now: datetime) -> list[Finding]:
    ends = sorted(key.expires for key in usable if key.expires is not None and key.expires - now < SOON)
    if not ends:
        return []
    days = (ends[0] - now).days
    first = "within a day" if days < 1 else f"in {days} day{'s' * (days > 1)}"
    what = f"{len(ends)} of {_keys(len(usable), verb=False)} expire{'s' * (len(ends) == 1)} soon, the first {first}"
    return [caution(CHECK, what, f"sift key list shows which; then {_NEW}")]


def _keys(count: int, *, verb: bool = True) -> str:
    return f"{count} key{'s' * (count != 1)}{(' are' if count != 1 else ' is') * verb}"
