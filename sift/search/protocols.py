"""What the engine needs from the outside, seen from the engine."""

from __future__ import annotations

from typing import Protocol

from sift.search.model import Filter, SearchResult, SourceOut


class Source(Protocol):
    """Be one vendor."""

    @property
    def name(self) -> str:
        """Prefix every note with this; it also names the source in answers and in the ledger."""

    @property
    def timeout(self) -> float:
        """Bound one call to this many seconds of wall time."""

    @property
    def reranked(self) -> bool:
        """Tell whether the source's list takes part in the RRF sum (§6.2, "no_rerank")."""

    def search(self, query: str, k: int, filter: Filter, *, deadline: float) -> SourceOut:
        """Ask the vendor once, ending before `deadline` (`time.monotonic()` seconds): a request may wait for it here.

        Raises SourceError when the call fails.
        """


class Cache(Protocol):
    """Keep answers for a while; never raise."""

    def get(self, key: bytes) -> SearchResult | None:
        """Give the answer stored under `key`, if it is still fresh."""

    def put(self, key: bytes, result: SearchResult) -> None:
        """Store an answer."""

    def __len__(self) -> int:
        """Count the answers kept."""


class Ledger(Protocol):
    """Count the credits a source may spend a UTC day; sources without a cap are free."""

    def left(self, name: str) -> int | None:
        """Give the credits left today, as far as is known without asking; None without a cap. Raises LedgerError.

        `reserve` alone decides.
        """

    def reserve(self, name: str, *, deadline: float) -> str | None:
        """Take one credit, waiting until `deadline` at most.

        Gives the day it counts for, "" without a cap, None at the cap.
        Raises LedgerError when the ledger cannot be read or written.
        """

    def settle(self, name: str, day: str, credits: int) -> None:
        """Book what the call of a reserved credit really cost; 0 gives the credit back. Never raises."""


class LedgerError(Exception):
    """Say that the ledger cannot be read or written; the source must then not be called."""
