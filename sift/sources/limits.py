"""Cutting a query to a vendor's limits (contract: Texts)."""

from __future__ import annotations

import re

_WORD = re.compile(r"\S+")


def fit(name: str, query: str, *, characters: int, words: int | None = None) -> tuple[str, tuple[str, ...]]:
    """Return a query cut to a vendor's limits, words first, and one note per cut.

    Characters are cut at the last blank that fits, hard if there is none. A quote that a cut leaves open is removed.
    """
    notes: tuple[str, ...] = ()
    cut = query
    if words is not None and len(found := list(_WORD.finditer(cut))) > words:
        cut = cut[: found[words - 1].end()]
        notes += (f"{name}: query cut to {words} words",)
    if len(cut) > characters:
        head = cut[: characters + 1]  # one more: a blank just past the limit ends a whole word
        blank = max((match.start() for match in re.finditer(r"\s", head)), default=0)
        cut = head[: blank or characters].rstrip()
        notes += (f"{name}: query cut to {characters} characters",)
    if notes and cut.count('"') % 2 and query.count('"') > cut.count('"'):
        before, _, after = cut.rpartition('"')
        cut = (before + after).strip() or cut  # vendors refuse an empty query
    return cut, notes


def too_long(name: str) -> str:
    """Return the note of a source that was not asked because a cut could break the phrase (`exact_match`)."""
    return f"{name}: query too long, not asked"
