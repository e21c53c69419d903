"""Cutting a long text into pieces that can be read one after another (contract: Fetch)."""

from __future__ import annotations

import re

_FENCE = re.compile(r"(?m)^[ \t]*(```|~~~)")
_BLANKS = re.compile(r"\s+")


def cut(text: str, start: int, most: int) -> tuple[str, int | None]:
    """Return up to `most` characters of a text from `start`, and where to read on; None when nothing is left.

    The piece ends behind a block, else behind a line, else behind a word, else in the middle of one.
    """
    window = text[start : start + most]
    if start + most >= len(text):
        return window, None
    end = _block_end(window, text[start + most : start + most + 2])
    end = end or max(window.rfind("\n"), 0) or max(window.rfind(" "), 0) or len(window)
    blanks = _BLANKS.match(text, start + end)
    following = blanks.end() if blanks else start + end
    return window[:end], following if following < len(text) else None


def _block_end(window: str, rest: str) -> int:
    """Return where the last whole block ends, 0 if none does. A blank line within a code fence ends no block."""
    fences = [match.start() for match in _FENCE.finditer(window)]
    end = len(window) if rest == "\n\n" else window.rfind("\n\n")
    while end > 0:
        before = sum(fence < end for fence in fences)
        if before % 2 == 0:
            return end
        end = window.rfind("\n\n", 0, fences[before - 1])
    return 0
