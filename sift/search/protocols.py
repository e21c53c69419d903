"""The protocols of what engine and calls need from outside: sources, cache, ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from sift.search.model import Filter, Prepared, SearchResult, Skip, SourceOut


class Source(Protocol):
    """One vendor."""

    @property
    def name(self) -> str:
        """The source's name in answers, notes, warnings and the ledger."""

    @property
    def timeout(self) -> float:
        """The longest wall time of one call, in seconds."""

    @property
    def reranked(self) -> bool:
        """Whether the source's list takes part in the RRF sum."""

    def skip(self) -> Skip | None:
        """Return why the vendor must not be asked now, by what it said itself; None if nothing is known."""

    def prepare(self, query: str, filter: Filter) -> Prepared:
        """Return what `search` would send and note; call nobody."""

    def treats(self, filter: Filter) -> Mapping[str, str]:
        """Return how each filter that is set would be applied (contract: Plan)."""

    def search(self, query: str, k: int, filter: Filter, *, deadline: float, fresh: bool = False) -> SourceOut:
        """Ask the vendor once, and return or raise before `deadline` (monotonic seconds).

        fresh: use a new connection, as those that were kept may be dead.
        Raises SourceError if the call fails.
        """


class Cache(Protocol):
    """Answers kept for a limited time; no method raises."""

    def get(self, key: bytes) -> SearchResult | None:
        """Return the answer stored under `key`; None if there is none or it has expired."""

    def put(self, key: bytes, result: SearchResult, seconds: float) -> None:
        """Store an answer for `seconds` at most, not at all if there are none."""

    def __len__(self) -> int:
        """Return the number of answers kept."""


class Ledger(Protocol):
    """The credits that each source may spend per UTC day; a source without a cap is not counted."""

    def left(self, name: str) -> int | None:
        """Return the credits left today, possibly out of date; None without a cap. Raises LedgerError.

        Only `reserve` decides.
        """

    def balance(self, name: str) -> int | None:
        """Return the credits left today as they are counted now; None without a cap. Raises LedgerError."""

    def reserve(self, name: str, *, deadline: float) -> str | None:
        """Take one credit, waiting until `deadline` at most.

        Returns the day it counts for, "" without a cap, None at the cap.
        Raises LedgerError if the ledger cannot be read or written.
        """

    def settle(self, name: str, day: str, credits: int) -> None:
        """Replace a reserved credit by what its call cost; 0 refunds it. Never raises."""


class LedgerError(Exception):
    """The ledger cannot be read or written; the source must then not be called."""


class LedgerLostError(LedgerError):
    """The ledger is gone or another one is in its place; until somebody acts, no later attempt can succeed."""
