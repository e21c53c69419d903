"""How much of what is wanted, and of what is not, is in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from tests.bench_extract.pages import Page

_TARGET = re.compile(r"\]\([^)\s]*\)")
_NO_WORD = re.compile(r"[\W_]+")


class Score(NamedTuple):
    """Counts of marked sentences: those found among the wanted, and among the unwanted."""

    wanted: int = 0
    found: int = 0
    unwanted: int = 0
    wrong: int = 0

    @property
    def precision(self) -> float:
        """The share of what was found that is wanted."""
        return self.found / (self.found + self.wrong) if self.found + self.wrong else 0.0

    @property
    def recall(self) -> float:
        """The share of what is wanted that was found."""
        return self.found / self.wanted if self.wanted else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def score(page: Page, text: str) -> Score:
    """Compare a text with what is marked on its page, by words alone: marks, links' targets and case do not count."""
    words = _words(text)
    found = sum(_words(each) in words for each in page.wanted)
    wrong = sum(_words(each) in words for each in page.unwanted)
    return Score(len(page.wanted), found, len(page.unwanted), wrong)


def total(scores: Iterable[Score]) -> Score:
    """Add scores up."""
    return Score(*map(sum, zip(*scores, strict=True)))


def _words(text: str) -> str:
    return f" {' '.join(_NO_WORD.split(_TARGET.sub(' ', text.lower())))} ".replace("  ", " ")
