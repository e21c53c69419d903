"""The record of a soak run: what was tried, and which promises were broken."""

from __future__ import annotations

from collections import Counter


class Soak:
    """What was tried, and which promises were broken."""

    def __init__(self) -> None:
        self.tried: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.broken: list[str] = []

    def promise(self, holds: bool, what: str) -> None:
        """Record a promise that was broken."""
        if not holds:
            self.broken.append(what)

    def summary(self) -> str:
        """Return all counts and broken promises as text."""
        rows = [*self.tried.items(), *((f"most {name}", value) for name, value in self.most.items())]
        lines = [f"{name + ':':<34}{value:>9}" for name, value in rows]
        lines += [f"broken: {what}" for what in self.broken[:50]]
        return "\n".join([*lines, f"{'promises broken:':<34}{len(self.broken):>9}"])
