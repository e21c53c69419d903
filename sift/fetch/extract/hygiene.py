"""Text from a page made fit to be read: NFC, nothing invisible, folded blanks. Linear in the text's length.

What cannot be seen can still be read by a model: zero-width, bidi and tag characters and variation selectors carry
hidden text or turn visible text around, so they all go, even where a script uses them for shaping.
"""

from __future__ import annotations

import re
import unicodedata

# Controls but white space, what Unicode ignores when displayed (soft hyphens, zero-width and bidi characters, fillers,
# variation selectors, tags), annotation marks, object replacements, halves of surrogate pairs and noncharacters.
_UNFIT = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\ufdd0-\ufdef\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)
_LINE_ENDS = frozenset("\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
_NO_LETTERS = re.compile(r"[^\w\s\x00-\x7f]{31,}")
_MOST_MARKS = 30  # Unicode's Stream-Safe Text Format; NFC would sort longer runs in quadratic time
_FEW = 8
_BLANKS = re.compile(r"[^\S\n]+")
_EMPTY_LINES = re.compile(r"\n{3,}")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_MARKER = re.compile(r" *(?:[-*+] |[0-9]{1,9}[.)] )")
_DEEPEST = 32


def clean(text: str) -> str:
    """Return a text in NFC without unfit characters, its lines ended by newlines alone."""
    # A text has few different characters, and looking at those is faster than matching each one of the text.
    present = frozenset(text)
    if "\r" in present:
        text = text.replace("\r\n", "\n")
    for end in present & _LINE_ENDS:
        text = text.replace(end, "\n")
    unfit = [character for character in present if _UNFIT.match(character)]
    if len(unfit) > _FEW:
        text = _UNFIT.sub("", text)
    else:
        for character in unfit:
            text = text.replace(character, "")
    if text.isascii():
        return text
    if any(map(unicodedata.combining, present)):
        text = _NO_LETTERS.sub(_with_few_marks, text)
    return unicodedata.normalize("NFC", text)


def line(text: str, limit: int) -> str:
    """Return a text as one line of at most `limit` characters."""
    # What is cut off unseen may be long; what is folded away rarely is.
    text = " ".join(clean(text[: 10 * limit]).split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def verbatim(text: str) -> str:
    """Return a text with its white space, but without that at the ends of lines, and with single empty lines."""
    lines = "\n".join(map(str.rstrip, clean(text).split("\n")))
    return _EMPTY_LINES.sub("\n\n", lines).strip("\n")


def markdown(text: str) -> str:
    """Return Markdown with runs of blanks and of empty lines folded, but for code blocks, which stay as they are."""
    lines: list[str] = []
    fence = ""
    in_list = False
    for each in clean(text).split("\n"):
        if not fence and each[:1].isalpha() and each.isprintable() and "  " not in each:  # as most lines are
            in_list = False
            lines.append(each.rstrip(" "))
            continue
        match = _FENCE.match(each)
        if fence:
            lines.append(each)
            if match and match[1].startswith(fence) and not each[match.end() :].strip():
                fence = ""
        elif match:
            fence = match[1]
            lines.append(each.rstrip())
        else:
            folded = _BLANKS.sub(" ", each).strip()
            # In a list, the blanks before a line say what it belongs to.
            in_list = bool(_MARKER.match(each)) or (in_list and (not folded or each.startswith("  ")))
            indent = len(each) - len(each.lstrip(" ")) if in_list and folded else 0
            if folded or (lines and lines[-1]):
                lines.append(" " * min(indent, _DEEPEST) + folded)
    return "\n".join(lines).strip("\n")


def _with_few_marks(run: re.Match[str]) -> str:
    """Return a run of characters that are neither letters nor blanks, each with a bounded number of marks."""
    kept: list[str] = []
    marks = 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)
