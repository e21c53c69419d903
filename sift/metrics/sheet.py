"""Files of numbers, in the form in which the processes of prometheus_client share theirs.

Sift writes them itself: a number in memory that is mapped to a file costs a search nothing to speak of, and a worker
neither the memory nor the time of loading prometheus_client, which then reads them. tests/metrics/test_sheet.py
compares the form with the installed release.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
from collections.abc import Mapping
from pathlib import Path

from sift.metrics.families import Family

_DOUBLE = 8


class Sheet:
    """The series of one file.

    A file begins with 4 bytes that say how much of it is used, and 4 of padding. For each series follow the length of
    its key in 4 bytes; the key, JSON of metric, sample, labels and help, padded so that what follows is aligned; its
    value and a Unix time, both doubles.
    """

    def __init__(self) -> None:
        self._image = bytearray(_DOUBLE)

    def add(
        self, family: Family, labels: Mapping[str, str], *, suffix: str = "", value: float = 0.0, at: float = 0.0
    ) -> int:
        """Add a series; return where its value is, in doubles. at: the Unix time of the value."""
        metric = family.name.removesuffix("_total")
        key = json.dumps([metric, family.name + suffix, labels, family.help], sort_keys=True).encode()
        padded = key + b" " * (_DOUBLE - (len(key) + 4) % _DOUBLE)
        self._image += struct.pack(f"i{len(padded)}sdd", len(key), padded, value, at)
        return len(self._image) // _DOUBLE - 2

    def open(self, path: Path, *, keeps: bool) -> memoryview[float]:
        """Return the doubles of the file at a path, which is made unless it is there and `keeps`. Raises OSError.

        keeps: whether a file of the same series, which another worker left, is continued.
        """
        struct.pack_into("i", self._image, 0, len(self._image))
        if not (keeps and path.exists() and path.stat().st_size == len(self._image)):
            # Written whole and then renamed: a scrape meanwhile sees all of it or nothing. Written rather than only
            # made so long: a page that has no place on a full disk would end the process at its first use.
            new = path.with_suffix(".new")
            new.write_bytes(self._image)
            new.replace(path)
        file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            return memoryview(mmap.mmap(file, len(self._image))).cast("d")
        finally:
            os.close(file)
