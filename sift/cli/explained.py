"""An explained answer at a terminal: a line under each hit, a table at the end (contract: Explain, Command line)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sift.cli.terminal import Screen, printable

_WORDS = {"beyond_k": "beyond k", "min_score": "under min_score", "domains": "by domain", "repeats": "repeats"}


def why(hit: dict[str, Any], screen: Screen) -> list[str]:
    """Return the line that says why a hit is there: `searxng #1 · tavily #4 → 0.0320`; none if it does not say."""
    entries = hit.get("why")
    if not isinstance(entries, list):
        return []
    dot, arrow = ("·", "→") if screen.ellipsis == "…" else ("-", "->")
    several = any("place" in entry for entry in entries)
    lists = (f"{_query(entry, several)}{printable(str(entry['source']))} #{entry['rank']}" for entry in entries)
    return [screen.dim(f"{f' {dot} '.join(lists)} {arrow} {hit['score']:.4f}")]


def _query(entry: dict[str, Any], several: bool) -> str:
    return f"query {entry['query']} " if several else ""


def account(explain: dict[str, Any]) -> list[str]:
    """Return the table of an explanation: what each source did, where the other rows went, what it cost."""
    columns = ("source", "query", "outcome", "ms", "hits", "credits")
    rows = [[printable(str(each[name])) for name in columns] for each in explain["sources"]]
    lines = ["", *table([list(columns), *rows], left={0, 2})]
    dropped = [f"{count} {_WORDS.get(name, name)}" for name, count in explain["dropped"].items() if count]
    paid, ms = explain["credits"], explain["ms"]
    left = [f"{_known(count)} left for {name}" for name, count in paid["left"].items()]
    return [
        *lines,
        f"dropped: {', '.join(dropped) or 'nothing'}",
        f"credits: {', '.join([f'{paid[name]} {name}' for name in ('spent', 'saved')] + left)}",
        f"ms: {ms['total']} in all, {ms['sources']} for the sources, {ms['merge']} for merging",
    ]


def table(rows: Sequence[Sequence[str]], left: set[int]) -> list[str]:
    """Return rows in columns. left: the numbers of the columns that begin at the left; others end at the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _known(count: int | None) -> str:
    return "unknown" if count is None else str(count)
