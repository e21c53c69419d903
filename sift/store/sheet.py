"""What one process has counted on one day, in a file that outlives it (contract: Usage).

A count is written into mapped memory, which costs no system call, and which the system keeps when the process is
killed. Whoever holds the lock of a file may book it: its process, and after that one which finds it left behind.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

KINDS = ("calls", "spared_by_cache", "spared_by_sharing", "refused_by_cap")
_SIZE = 8  # bytes of a number
_UNFINISHED = ".new"


class Totals(NamedTuple):
    """What is on a sheet: by source, how many calls of each of `KINDS` since the sheet was begun."""

    sheet: str
    day: str
    counts: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet: for each source as many numbers as there are kinds.

    file: open and locked; None if there is none, and the counts are gone with the process.
    """

    id: str
    day: str
    sources: tuple[str, ...]
    numbers: memoryview
    file: IO[bytes] | None = None
    path: Path = Path()

    def totals(self) -> Totals:
        """Return what is on it now. A source of which nothing is may be booked with what was taken back since."""
        width = len(KINDS)
        rows = {name: tuple(self.numbers[at * width : (at + 1) * width]) for at, name in enumerate(self.sources)}
        return Totals(self.id, self.day, rows)

    def remove(self) -> None:
        """Remove the file, whose counts are all booked. Never raises."""
        if self.file is not None:
            with suppress(OSError):
                self.path.unlink()

    def close(self) -> None:
        """Let the file go."""
        if self.file is not None:
            self.file.close()


def begin(directory: Path, day: str, sources: Sequence[str]) -> Sheet:
    """Return a sheet of zeros. Where no file can be written, it is in memory only."""
    name = secrets.token_hex(8)
    numbers = bytes(_SIZE * len(KINDS) * len(sources))
    header = json.dumps({"day": day, "sources": sources}).encode()
    header = header.ljust(-(-(len(header) + 1) // _SIZE) * _SIZE - 1) + b"\n"  # so that the numbers are aligned
    path = directory / name
    unfinished = path.with_suffix(_UNFINISHED)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.fdopen(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            file.write(header + numbers)  # all of it, so that no block is wanting when a number is written
            file.flush()
            memory = mmap.mmap(file.fileno(), 0)
            unfinished.rename(path)
        except OSError:
            file.close()
            raise
    except OSError:
        return Sheet(name, day, tuple(sources), memoryview(bytearray(numbers)).cast("Q"))
    return Sheet(name, day, tuple(sources), memoryview(memory)[len(header) :].cast("Q"), file, path)


def left_behind(directory: Path) -> Iterator[Sheet]:
    """Yield the sheets of processes that are gone, each locked until the next is asked for."""
    with suppress(OSError):
        for path in sorted(directory.iterdir()):
            with suppress(OSError), path.open("r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its process lives
                if os.fstat(file.fileno()).st_nlink == 0:
                    continue  # another process has booked it meanwhile
                found = None if path.suffix == _UNFINISHED else _read(path, file)
                if found is None:
                    path.unlink()
                else:
                    yield found


def _read(path: Path, file: IO[bytes]) -> Sheet | None:
    """Return the sheet in a file; None if there is none."""
    try:
        header = json.loads(file.readline())
        numbers = memoryview(file.read()).cast("Q")
        return Sheet(path.name, header["day"], tuple(header["sources"]), numbers, file, path)
    except (ValueError, TypeError, KeyError):
        return None
