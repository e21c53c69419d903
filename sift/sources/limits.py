"""Fitting a query into what a vendor takes (contract: Texts)."""

from __future__ import annotations

import re

_WORD = re.compile(r"\S+")


def fit(name: str, query: str, *, characters: int, words: int | None = None) -> tuple[str, tuple[str, ...]]:
    """Cut a query to a vendor's limits, words first; give it with one note a cut made.

    Characters are cut at the last blank that fits, hard when there is none; a quote left open by a cut goes too.
    """
    notes: tuple[str, ...] = ()
    cut = query
    if words is not None and len(found := list(_WORD.finditer(cut))) > words:
        cut = cut[: found[words - 1].end()]
        notes += (f"{name}: query cut to {words} words",)
    if len(cut) > characters:
        head = cut[: characters + 1]  # a blank just behind the limit leaves a whole word before it
        blank = max((match.start() for match in re.finditer(r"\s", head)), default=0)
        cut = head[: blank or characters].rstrip()
        notes += (f"{name}: query cut to {characters} characters",)
    if notes and cut.count('"') % 2 and query.count('"') > cut.count('"'):
        before, _, after = cut.rpartition('"')
        cut = (before + after).strip() or cut  # an empty query is one that vendors refuse
    return cut, notes


def too_long(name: str) -> str:
    """Note that a source was not asked: cutting a query would break its phrase (`exact_match`)."""
    return f"{name}: query too long, not asked"
