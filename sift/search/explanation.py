"""The records of an explained answer: what each source did, where every hit went, what it cost (contract: Explain)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class CallRecord(NamedTuple):
    """One source and one query.

    query: counted from 1. outcome: `ok`, the words of a failure, or why the source was not asked. ms: the call's time.
    hits: usable ones. credits: counted for it; 0 for a source without a cap.
    """

    source: str
    query: int
    outcome: str
    ms: int = 0
    hits: int = 0
    credits: int = 0


class Dropped(NamedTuple):
    """Where the rows that are not in the answer went, in the order in which they were dropped."""

    unusable: int
    repeats: int
    min_score: int
    domains: int
    beyond_k: int


class Explanation(NamedTuple):
    """What equal requests share of an explanation.

    calls: of every query and source, also of those skipped from the start. sources_ms, merge_ms: the time they took.
    """

    calls: tuple[CallRecord, ...]
    dropped: Dropped
    sources_ms: int = 0
    merge_ms: int = 0

    def as_dict(self, *, asked: bool, left: Mapping[str, int | None], total_ms: int) -> dict[str, Any]:
        """Return the explanation in v1's form.

        asked: whether the vendors were asked for this very request. left: credits by source, None if unknown.
        """
        cost = sum(call.credits for call in self.calls)
        return {
            "sources": [call._asdict() for call in self.calls],
            "dropped": self.dropped._asdict(),
            "credits": {"spent": cost if asked else 0, "saved": 0 if asked else cost, "left": left},
            "ms": {
                "total": total_ms,
                "sources": self.sources_ms if asked else 0,
                "merge": self.merge_ms if asked else 0,
            },
        }
