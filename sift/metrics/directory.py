"""The directory of the files in which the workers of one service count."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

_PREFIX = "metrics-"


class Directory:
    """A new directory for a service that starts. Raises OSError.

    Those of services that are no more are removed. One that is in use is locked, for as long as a process of that
    service lives: a service that takes over from another, or shares its state directory, must not take its files away.
    """

    def __init__(self, state_dir: Path) -> None:
        state_dir.mkdir(0o700, parents=True, exist_ok=True)
        for old in state_dir.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                held = _lock(old)
                try:
                    shutil.rmtree(old)
                finally:
                    os.close(held)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=state_dir))
        self._held = _lock(self.path)  # the workers inherit it


def _lock(path: Path) -> int:
    """Lock a directory; return the descriptor that holds the lock. Raises OSError when it is locked."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
