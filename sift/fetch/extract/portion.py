"""A part of an extractor's children for some of those who use it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from sift.fetch.extract.model import Document, Extract, Format
from sift.fetch.extract.turns import Turns


class Whole(Protocol):
    """The extractor of a process."""

    takes_pdf: bool

    @property
    def version(self) -> str:
        """What extracts, with versions."""

    def extract(self, document: Document, format: Format, *, html: bool = False, deadline: float) -> Extract:
        """Return the readable text of a document. Raises TimeoutError, ExtractError."""


class Portion:
    """Extracts as the whole does, a few documents at a time, so that the others always find a child that is free."""

    def __init__(self, whole: Whole, children: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._whole = whole
        self._turns = Turns(children, clock)
        self.takes_pdf = whole.takes_pdf

    @property
    def version(self) -> str:
        """What extracts, with versions."""
        return self._whole.version

    def extract(self, document: Document, format: Format, *, html: bool = False, deadline: float) -> Extract:
        """Return the readable text of a document. Raises TimeoutError at the deadline (monotonic), ExtractError."""
        with self._turns.turn(deadline):
            return self._whole.extract(document, format, html=html, deadline=deadline)

    def close(self) -> None:
        """Do nothing: the children are the whole's."""
