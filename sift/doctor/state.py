"""The state directory and the ledger in it, as the service's user finds them (contract: Doctor, Credits)."""

from __future__ import annotations

import os
import stat
import tempfile
from datetime import date
from pathlib import Path
from typing import NamedTuple

from sift.findings import Finding, caution, fail, ok
from sift.store.sqlite.inspect import Inspected

CHECK, LEDGER, CLOCK = "state", "ledger", "clock"
_PROBE = bytes(4096)


class SeenState(NamedTuple):
    """A state directory. mode: None if there is none. can_write: also whether one that is missing can be made."""

    mode: int | None
    is_directory: bool
    can_write: bool


def look_at_state(path: Path) -> SeenState:
    """Look at a directory with the rights that this process has now, and write a file without a name in it."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        above = next((each for each in path.absolute().parents if each.exists()), Path("/"))
        return SeenState(None, is_directory=False, can_write=above.is_dir() and os.access(above, os.W_OK | os.X_OK))
    except OSError:  # below a file, or behind a directory that this user may not enter
        return SeenState(None, is_directory=False, can_write=False)
    try:
        with tempfile.TemporaryFile(dir=path) as file:
            file.write(_PROBE)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        return SeenState(stat.S_IMODE(mode), stat.S_ISDIR(mode), can_write=False)
    return SeenState(stat.S_IMODE(mode), is_directory=True, can_write=True)


def check_state(path: Path, seen: SeenState, user_name: str) -> list[Finding]:
    """Return what is wrong with a state directory."""
    make = f"install -d -m 700 -o {user_name} {path}"
    if seen.mode is None and seen.can_write:
        return [caution(CHECK, f"{path} does not exist; the service makes it at first use", make)]
    if seen.mode is None:
        return [fail(CHECK, f"{path} can neither be reached nor made", f"{make}; or set SIFT_STATE_DIR")]
    if not seen.is_directory:
        return [fail(CHECK, f"{path} is no directory", "set SIFT_STATE_DIR to a directory for Sift alone")]
    if not seen.can_write:
        cure = f"chown {user_name} {path}; chmod 700 {path}; look at free space and at ReadWritePaths= of the unit"
        return [fail(CHECK, f"{path} cannot be written by user {user_name}", cure)]
    if seen.mode & 0o077:
        return [caution(CHECK, f"{path} can be entered by other users (mode {seen.mode:04o})", f"chmod 700 {path}")]
    return [ok(CHECK, f"{path} can be written by user {user_name}")]


def check_ledger(path: Path, seen: Inspected, user_name: str, today: date) -> list[Finding]:
    """Return what is wrong with a ledger, and how the clock goes with it. today: the UTC day by this host's clock."""
    cures = {
        "locked": ("warn", f"{path.name} is locked by another program", "end what holds it: backups must not lock it"),
        "slow": ("warn", f"{path.name} is too large to be checked in time", f"sqlite3 {path} 'PRAGMA quick_check'"),
        "read-only": ("fail", f"{path.name} cannot be written by user {user_name}", f"chown {user_name} {path}*"),
        "unreadable": ("fail", f"{path.name} cannot be opened by user {user_name}", f"chown {user_name} {path}*"),
        "damaged": (
            "fail",
            f"{path.name} is damaged: capped sources are skipped",
            f"stop Sift, move {path}* away, lower the caps by what was spent today, start Sift",
        ),
    }
    if not seen.exists:
        return [ok(LEDGER, f"there is no {path.name} yet: the first call that is counted makes it")]
    if seen.trouble:
        level, what, cure = cures[seen.trouble]
        return [fail(LEDGER, what, cure) if level == "fail" else caution(LEDGER, what, cure)]
    return [ok(LEDGER, f"{path.name} is sound and can be written"), _clock(seen.newest, today)]


def _clock(newest: str, today: date) -> Finding:
    try:
        ahead = (date.fromisoformat(newest) - today).days if newest else 0
    except ValueError:
        ahead = 0
    if ahead <= 0:
        return ok(CLOCK, "no day in the ledger is later than today")
    what = f"the ledger has counted on {newest}, and this host's day is {today.isoformat()} (UTC)"
    return caution(CLOCK, what, "the clock is wrong now, or was then: set it, and keep it right by NTP (timedatectl)")
