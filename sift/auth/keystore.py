"""The key file on disk: checked on reading, replaced atomically, by one `sift key` command at a time.

contract: Callers.
"""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sift.auth.entry import Key, format_keys, parse_keys
from sift.errors import ConfigError

MISSING = "is missing"  # the one reason for which a new key is the remedy
_MAX_BYTES = 4 * 1024 * 1024


class KeyFileError(ConfigError):
    """Raised when a key file cannot be used; one line with the path and no content.

    reason: the same without the path.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"SIFT_KEYS_FILE: {str(path)!a} {reason}")  # ASCII: one line, whatever the path contains
        self.reason = reason


def read_keys(path: Path) -> tuple[Key, ...]:
    """Return the keys of a file; raise KeyFileError unless it is valid and private."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO must not block a request
        try:
            text = _read_private(handle)
        finally:
            os.close(handle)
        return parse_keys(text)
    except FileNotFoundError:
        reason = MISSING
    except PermissionError:
        reason = _forbidden(path)
    except OSError:
        reason = "cannot be read"
    except _UnfitError as error:
        reason = str(error)
    except (ValueError, RecursionError):
        reason = "is malformed"
    raise KeyFileError(path, reason)


def write_keys(path: Path, keys: Iterable[Key]) -> None:
    """Replace the file atomically, and keep its owner and mode.

    A new file gets mode 0600 and the owner of its directory, who is the service's user when root runs the command.
    Raises OSError, with an explanation where the system's is not enough; the file is then unchanged.
    """
    target = path.resolve()  # the target of a symbolic link, not the link
    handle, draft = tempfile.mkstemp(prefix=".keys-", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            _keep_owner(target, file.fileno())
            with suppress(FileNotFoundError):
                os.fchmod(file.fileno(), target.stat().st_mode & 0o600)
            file.write(format_keys(keys))
            file.flush()
            os.fsync(file.fileno())
        _replace(draft, target)
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
    target = path.resolve()
    handle = os.open(f"{target}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with suppress(OSError):  # the lock works all the same
            _keep_owner(target, handle)
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _keep_owner(target: Path, handle: int) -> None:
    """Give an open file the owner of a key file, or of its directory while there is none."""
    is_new = not target.exists()
    ours, model = os.fstat(handle), (target.parent if is_new else target).stat()
    if (ours.st_uid, ours.st_gid) == (model.st_uid, model.st_gid):
        return
    if ours.st_nlink > 1:  # a lock that the directory's owner has linked to a file of root, to be given that file
        return
    try:
        os.fchown(handle, model.st_uid, model.st_gid)
    except OSError:  # not root, or root without that right: in a container, on NFS
        if not is_new and ours.st_uid != model.st_uid:
            reason = f"user {_user(model.st_uid)} must stay its owner; run this command as that user"
            raise PermissionError(errno.EPERM, reason) from None


def _forbidden(path: Path) -> str:
    """Return why this user may not read a key file, and what is wanted."""
    us = _user(os.geteuid())
    try:
        owner = _user(path.stat().st_uid)
    except OSError:
        return f"cannot be reached by user {us}, who must own it and its directory, with modes 0600 and 0700"
    return f"belongs to user {owner} and cannot be read by user {us}, who must own it, with mode 0600"


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _replace(draft: str, target: Path) -> None:
    try:
        Path(draft).replace(target)
    except OSError as error:
        if error.errno == errno.EBUSY:
            raise OSError(errno.EBUSY, "it is a mount of its own; mount the directory that holds it instead") from None
        raise


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
