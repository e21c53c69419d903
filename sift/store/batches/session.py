"""What an engine offers to the statements of batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

Row = tuple[Any, ...]


class Session(Protocol):
    """One transaction.

    Statements name their values as `:name`. Two are always there: `:now`, Unix seconds, for what people see, and
    `:tick`, seconds of a clock that all processes of the store share and that no operator sets, for leases and waits.
    Where an engine has no such clock, the two are one.

    locks: what a SELECT ends with to lock its rows until the end of the transaction; "" where it holds all anyway.
    """

    @property
    def locks(self) -> str: ...

    def rows(self, statement: str, **values: Any) -> list[Row]:
        """Run a statement and return its rows."""

    def change(self, statement: str, **values: Any) -> int:
        """Run a statement and return how many rows it changed."""

    def many(self, statement: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Run a statement once for each mapping of values."""

    def hold(self, name: str) -> None:
        """Wait until no other transaction holds this name, and hold it until the end."""
