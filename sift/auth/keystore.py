"""The key file on disk: read with suspicion, written in one step, by one `sift key` command at a time.

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
    """Read a key file; raise ConfigError in one line, with the path and without content, unless it is sound."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO must not hang a request
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
    raise ConfigError(f"SIFT_KEYS_FILE: {str(path)!a} {reason}")  # ascii: one line, whatever the path holds


def write_keys(path: Path, keys: Iterable[Key]) -> None:
    """Replace the file in one step; the new one has mode 0600 from its first byte (mkstemp's rule)."""
    target = path.resolve()  # behind a symbolic link, not the link itself
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
    """Let one command at a time read and write. The lock lies beside the file, since writing replaces the file."""
    handle = os.open(f"{path.resolve()}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


class _UnfitError(Exception):
    """Say why an open file is not read at all."""


def _read_private(handle: int) -> str:
    """Read an open file. It is the open file that is judged, so nobody can swap it in between."""
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
