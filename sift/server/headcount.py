"""How many workers there are to be, as their master knows it."""

from __future__ import annotations

import mmap
from collections.abc import Iterable


class Headcount:
    """A number that the master sets and its workers read; shared with every process forked after it was made."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8)

    @property
    def size(self) -> int:
        """The number of workers, at least 1."""
        return int.from_bytes(self._memory[:8], "big") or 1

    @size.setter
    def size(self, workers: int) -> None:
        self._memory[:8] = max(0, workers).to_bytes(8, "big")


def free_slot(taken: Iterable[int]) -> int:
    """Return the lowest number that no living worker has, so that a new one goes on where a dead one ended."""
    slots = set(taken)
    return next(slot for slot in range(len(slots) + 1) if slot not in slots)
