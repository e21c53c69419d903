"""The text of a PDF by pypdf (extra `pdf`)."""

from __future__ import annotations

import io
import logging
import time
from collections.abc import Callable
from typing import Any

from sift.fetch.extract import hygiene
from sift.fetch.extract.model import MOST_CONTENT, MOST_PDF_PAGES, Extract, pdf_cut

MOST_SECONDS = 2.5
"""Time after which the pages so far have to do."""


class UnreadablePDFError(Exception):
    """A PDF is encrypted, broken or holds no text."""


def extract(
    body: bytes,
    *,
    clock: Callable[[], float] = time.monotonic,
    seconds: float = MOST_SECONDS,
    most: int = MOST_PDF_PAGES,
) -> Extract:
    """Return the text of a PDF's first pages. Raises UnreadablePDFError, and what pypdf raises."""
    from pypdf import PdfReader

    logging.disable(logging.CRITICAL)  # it logs what it finds in files
    reader = PdfReader(io.BytesIO(body))
    if reader.is_encrypted and not reader.decrypt(""):
        raise UnreadablePDFError
    pages, size = len(reader.pages), 0
    texts: list[str] = []
    ends = clock() + seconds
    for number in range(min(pages, most)):
        if texts and (clock() > ends or size > MOST_CONTENT):
            break
        texts.append(reader.pages[number].extract_text())
        size += len(texts[-1])
    content = hygiene.verbatim("\n\n".join(texts))
    title, author = (_declared(reader.metadata, name) for name in ("title", "author"))
    warnings = (pdf_cut(len(texts)),) if len(texts) < pages else ()
    return Extract(content, "pdf", title=title, author=author, warnings=warnings)


def _declared(metadata: Any, name: str) -> str:
    try:
        value = getattr(metadata, name, None)
    except Exception:  # it decodes what the file holds, whatever that is
        return ""
    return hygiene.line(value, 1000) if isinstance(value, str) else ""
