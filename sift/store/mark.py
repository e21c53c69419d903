"""What the processes of one service know together about their credit ledger."""

from __future__ import annotations

import mmap

_ID = slice(0, 8)
_LOST = 8


class Mark:
    """The identity of the ledger in use, and whether it was lost; shared with every process forked after it was made.

    It is in memory, as whoever deletes the ledger's files may delete any other file too, and made by the master, so
    that it outlives reloads and workers.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 16)

    @property
    def ledger(self) -> int:
        """The identity of the ledger in use; 0 before it was first opened."""
        return int.from_bytes(self._memory[_ID], "big")

    @ledger.setter
    def ledger(self, identity: int) -> None:
        self._memory[_ID] = identity.to_bytes(8, "big")

    @property
    def is_lost(self) -> bool:
        """Whether the ledger's files were deleted, emptied or replaced."""
        return self._memory[_LOST] != 0

    def lose(self) -> None:
        """Record, for good, that they were."""
        self._memory[_LOST] = 1
