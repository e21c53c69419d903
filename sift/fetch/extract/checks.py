"""What a child answered, checked: a child has read a hostile page, and its answer is no more to be trusted."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, get_args

from sift.errors import ExtractError
from sift.fetch.extract.frames import BadFrameError, Frame
from sift.fetch.extract.model import MOST_CONTENT, MOST_PDF_PAGES, WARNINGS, Extract, Kind, RobotsRules

_LONGEST = {"title": 1000, "author": 1000, "published_date": 10, "lang": 35, "description": 5000}
_LONGEST_DELAY = 1e9  # seconds; a number that is none, or too long for `float`, is not below it
_KINDS = frozenset(get_args(Kind))
_PDF_CUT = re.compile(r"pdf: first ([0-9]{1,3}) pages", re.ASCII)
_LANG = re.compile(r"(?:[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)?", re.ASCII)


def to_extract(answer: Frame) -> Extract:
    """Return the extract that a child's answer holds.

    Raises ExtractError when it says that there is none, and BadFrameError when it says something else.
    """
    _has_not_failed(answer)
    header = answer.header
    kind = header.get("extractor")
    texts = {name: _text(header.get(name, ""), longest) for name, longest in _LONGEST.items()}
    if not isinstance(kind, str) or kind not in _KINDS or not _is_date(texts["published_date"]):
        raise BadFrameError
    if not _LANG.fullmatch(texts["lang"]):
        raise BadFrameError
    return Extract(
        content=_decoded(answer.first),
        html=_decoded(answer.second),
        extractor=kind,  # type: ignore[arg-type]
        warnings=_warnings(header.get("warnings", [])),
        **texts,
    )


def to_rules(answer: Frame) -> RobotsRules:
    """Return the rules that a child's answer holds. Raises ExtractError and BadFrameError as `to_extract` does."""
    _has_not_failed(answer)
    allowed, delay = answer.header.get("allowed"), answer.header.get("delay")
    if not isinstance(allowed, bool):
        raise BadFrameError
    if delay is None:
        return RobotsRules(allowed, None)
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0 <= delay <= _LONGEST_DELAY:
        raise BadFrameError
    return RobotsRules(allowed, float(delay))


def _has_not_failed(answer: Frame) -> None:
    if answer.header.get("failed") is True:
        raise ExtractError


def _text(value: Any, longest: int) -> str:
    if not isinstance(value, str) or len(value) > longest or not _is_encodable(value):
        raise BadFrameError
    return value


def _is_encodable(text: str) -> bool:
    """Return whether a text has no halves of surrogate pairs, which JSON may smuggle in."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _is_date(text: str) -> bool:
    try:
        return not text or date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _decoded(data: bytes) -> str:
    if len(data) > MOST_CONTENT:
        raise BadFrameError
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise BadFrameError from None


def _warnings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or len(value) > len(WARNINGS) + 1:
        raise BadFrameError
    for warning in value:
        if not isinstance(warning, str) or not (warning in WARNINGS or _is_pdf_cut(warning)):
            raise BadFrameError
    return tuple(value)


def _is_pdf_cut(warning: str) -> bool:
    match = _PDF_CUT.fullmatch(warning)
    return match is not None and int(match[1]) <= MOST_PDF_PAGES
