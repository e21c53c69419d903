"""What searches need from outside, as protocols of the engine and its calls."""

from __future__ import annotations

from typing import Protocol

from sift.search.model import Filter, SearchResult, SourceOut


class Source(Protocol):
    """One vendor."""

    @property
    def name(self) -> str:
        """The source's name in answers, notes, warnings and the ledger."""

    @property
    def timeout(self) -> float:
        """The wall time of one call at most, in seconds."""

    @property
    def reranked(self) -> bool:
        """Whether the source's list takes part in the RRF sum."""

    def search(self, query: str, k: int, filter: Filter, *, deadline: float) -> SourceOut:
        """Ask the vendor once, ending before `deadline` (monotonic seconds): a request may wait for it here.

        Raises SourceError when the call fails.
        """


class Cache(Protocol):
    """Answers kept for a while; no method raises."""

    def get(self, key: bytes) -> SearchResult | None:
        """Return the answer stored under `key`, if it is still fresh."""

    def put(self, key: bytes, result: SearchResult) -> None:
        """Store an answer."""

    def __len__(self) -> int:
        """Return the number of answers kept."""


class Ledger(Protocol):
    """The credits a source may spend per UTC day; sources without a cap are free."""

    def left(self, name: str) -> int | None:
        """Return the credits left today, as far as is known without asking; None without a cap. Raises LedgerError.

        `reserve` alone decides.
        """

    def reserve(self, name: str, *, deadline: float) -> str | None:
        """Take one credit, waiting until `deadline` at most.

        Returns the day it counts for, "" without a cap, None at the cap.
        Raises LedgerError when the ledger cannot be read or written.
        """

    def settle(self, name: str, day: str, credits: int) -> None:
        """Book what the call of a reserved credit really cost; 0 gives the credit back. Never raises."""


class LedgerError(Exception):
    """The ledger cannot be read or written; the source must then not be called."""
