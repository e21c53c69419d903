"""The key file on disk: checked on reading, replaced atomically, by one `sift key` command at a time.

contract: Callers.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sift.auth.entry import Key, format_keys, parse_keys
from sift.errors import ConfigError

_MAX_BYTES = 4 * 1024 * 1024


def read_keys(path: Path) -> tuple[Key, ...]:
    """Return the keys of a file; raise ConfigError, one line with the path and no content, unless it is valid."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO must not block a request
        try:
            text = _read_private(handle)
        finally:
            os.close(handle)
        return parse_keys(text)
    except FileNotFoundError:
        reason = "is missing"
    except OSError:
        reason = "cannot be read"
    except _UnfitError as error:
        reason = str(error)
    except (ValueError, RecursionError):
        reason = "is malformed"
    raise ConfigError(f"SIFT_KEYS_FILE: {str(path)!a} {reason}")  # ASCII: one line, whatever the path contains


def write_keys(path: Path, keys: Iterable[Key]) -> None:
    """Replace the file atomically. mkstemp gives the new one mode 0600 from the start."""
    target = path.resolve()  # the target of a symbolic link, not the link
    handle, draft = tempfile.mkstemp(prefix=".keys-", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(format_keys(keys))
            file.flush()
            os.fsync(file.fileno())
        Path(draft).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(draft).unlink()
        raise
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a key file. It is a file of its own, because writing replaces the key file."""
    handle = os.open(f"{path.resolve()}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


class _UnfitError(Exception):
    """Raised when an open file must not be read; its text is the reason."""


def _read_private(handle: int) -> str:
    """Return the text of an open file. Checking the descriptor leaves no time to swap the file."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise _UnfitError("is no regular file")
    mode = stat.S_IMODE(found.st_mode)
    if mode & ~0o600:
        raise _UnfitError(f"has mode {mode:04o} and must not be wider than 0600")
    if found.st_size > _MAX_BYTES:
        raise _UnfitError("is too large")
    with os.fdopen(handle, "rb", closefd=False) as file:
        return file.read(_MAX_BYTES + 1).decode("utf-8-sig")
