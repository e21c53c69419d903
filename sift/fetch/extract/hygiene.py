"""Text from a page made fit to be read: NFC, nothing invisible, folded blanks. Linear in the text's length.

What cannot be seen can still be read by a model: zero-width, bidi and tag characters and variation selectors carry
hidden text or turn visible text around, so they all go, even where a script uses them for shaping.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby

# Controls but white space, what Unicode ignores when displayed (soft hyphens, zero-width and bidi characters, fillers,
# variation selectors, tags), annotation marks, object replacements, halves of surrogate pairs and noncharacters.
_UNFIT = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\ufdd0-\ufdef\ud800-\udfff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
    + "]"
)
_LINE_END = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_NO_LETTERS = re.compile(r"[^\w\s\x00-\x7f]{31,}")
_MOST_MARKS = 30  # Unicode's Stream-Safe Text Format; NFC would sort longer runs in quadratic time
_BLANKS = re.compile(r"[^\S\n]+")
_ENDS = re.compile(r"[^\S\n]+$", re.MULTILINE)
_EMPTY_LINES = re.compile(r"\n{3,}")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_MARKER = re.compile(r"( *)(?:[-*+] |[0-9]{1,9}[.)] )")


def clean(text: str) -> str:
    """Return a text in NFC without unfit characters, its lines ended by newlines alone."""
    text = _LINE_END.sub("\n", text)
    if text.isascii():
        return _UNFIT.sub("", text)
    return unicodedata.normalize("NFC", _NO_LETTERS.sub(_with_few_marks, _UNFIT.sub("", text)))


def line(text: str, limit: int) -> str:
    """Return a text as one line of at most `limit` characters."""
    # What is cut off unseen may be long; what is folded away rarely is.
    text = " ".join(clean(text[: 10 * limit]).split())
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def verbatim(text: str) -> str:
    """Return a text with its white space, but without that at the ends of lines, and with single empty lines."""
    return _EMPTY_LINES.sub("\n\n", _ENDS.sub("", clean(text))).strip("\n")


def markdown(text: str) -> str:
    """Return Markdown with runs of blanks and of empty lines folded, but for code blocks, which stay as they are."""
    blocks: list[str] = []
    for is_code, lines in groupby(_marked(clean(text).split("\n")), lambda each: each[0]):
        block = "\n".join(each for _, each in lines)
        blocks.append(block if is_code else _EMPTY_LINES.sub("\n\n", block))
    return "\n".join(blocks).strip("\n")


def _marked(lines: list[str]) -> list[tuple[bool, str]]:
    """Return each line, folded unless it is code, and whether it belongs to a code block."""
    marked = []
    fence = ""
    for each in lines:
        match = _FENCE.match(each)
        if fence:
            marked.append((True, each))
            if match and match[1].startswith(fence) and not each[match.end() :].strip():
                fence = ""
        elif match:
            fence = match[1]
            marked.append((True, each.rstrip()))
        else:
            marked.append((False, _folded(each)))
    return marked


def _folded(text: str) -> str:
    """Return a line with its runs of blanks folded; before a list's marker they say how deep it is."""
    marker = _MARKER.match(text)
    return (marker[1] if marker else "") + _BLANKS.sub(" ", text).strip()


def _with_few_marks(run: re.Match[str]) -> str:
    """Return a run of characters that are neither letters nor blanks, each with a bounded number of marks."""
    kept: list[str] = []
    marks = 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)
