"""The text of a PDF by pypdf (extra `pdf`)."""

from __future__ import annotations

import io
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from sift.fetch.extract import hygiene
from sift.fetch.extract.model import MOST_CONTENT, MOST_PDF_PAGES, Extract, pdf_cut

MOST_SECONDS = 2.5
"""Time after which the pages so far have to do."""
_AGAIN = 0.02


class UnreadablePDFError(Exception):
    """A PDF is encrypted, broken or holds no text."""


class _Overrun(BaseException):
    """One page has taken what all may take."""


def extract(
    body: bytes,
    *,
    clock: Callable[[], float] = time.monotonic,
    seconds: float = MOST_SECONDS,
    most: int = MOST_PDF_PAGES,
) -> Extract:
    """Return the text of a PDF's first pages, up to one that takes too long. For the main thread.

    Raises UnreadablePDFError, and what pypdf raises.
    """
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(body))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadablePDFError
    pages, size = len(reader.pages), 0
    texts: list[str] = []
    ends = clock() + seconds
    with suppress(_Overrun), _interrupted(seconds):
        for number in range(min(pages, most)):
            if texts and (clock() > ends or size > MOST_CONTENT):
                break
            texts.append(reader.pages[number].extract_text())
            size += len(texts[-1])
    if pages and not texts:
        raise UnreadablePDFError
    content = hygiene.verbatim("\n\n".join(texts))
    title, author = (_declared(reader.metadata, name) for name in ("title", "author"))
    warnings = (pdf_cut(len(texts)),) if len(texts) < pages else ()
    return Extract(content, "pdf", title=title, author=author, warnings=warnings)


@contextmanager
def _interrupted(seconds: float) -> Iterator[None]:
    """Raise _Overrun inside the block after so many seconds of processor time: a drawing may cost pypdf minutes."""

    def overrun(_: int, frame: FrameType | None) -> None:
        # Nowhere else: what collects garbage would swallow it, and the end of the block must not be torn.
        if frame is not None and str(frame.f_globals.get("__name__")).startswith("pypdf."):
            raise _Overrun

    before = signal.signal(signal.SIGPROF, overrun)
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 0.001), _AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _declared(metadata: Any, name: str) -> str:
    try:
        value = getattr(metadata, name, None)
    except Exception:  # it decodes what the file holds, whatever that is
        return ""
    return hygiene.line(value, 1000) if isinstance(value, str) else ""
