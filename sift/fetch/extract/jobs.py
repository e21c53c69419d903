"""The jobs of a child: which extractor gets a document, and what its answer is as a frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from sift.fetch.extract import feed, page, pdf, plain, robots
from sift.fetch.extract.encoding import decode
from sift.fetch.extract.frames import Frame
from sift.fetch.extract.model import HTML, MOST_CONTENT, PAGE_CUT, PDF, XML, Document, Extract, Format

Job = Callable[[], Frame]


def prepare(frame: Frame, seconds: float) -> Job:
    """Load what a job needs, which is no part of its time, and return it. seconds: after which it is to be over."""
    header, body = frame.header, frame.first
    if header["job"] == "robots":
        judge = robots.parser()
        return lambda: Frame(asdict(judge(body, header["agent"], header["url"])))
    document = Document(body, header["content_type"], header["charset"], header["url"])
    readable = None
    if document.content_type in HTML | XML and not header["builtin"]:
        readable = page.load_readable()
    options = {"html": header["html"], "readable": readable, "is_builtin": header["builtin"], "seconds": seconds}
    return lambda: to_frame(find(document, header["format"], **options))


def find(document: Document, format: Format, *, seconds: float, **options: Any) -> Extract:
    """Return the text of a document by what its type calls for. options: those of `page.extract`."""
    kind = document.content_type
    if kind == PDF:
        return pdf.extract(document.body, seconds=seconds)
    if kind in HTML:
        return page.extract(document, format, seconds=seconds, **options)
    text = decode(document.body, document.charset)
    if kind not in XML:
        return plain.extract(text)
    if feed.is_html(text):
        return page.extract(document, format, seconds=seconds, **options)
    return feed.extract(text, document.url, format, seconds=seconds)


def to_frame(extract: Extract) -> Frame:
    """Return an extract as the answer of a child, cut to what an answer may hold."""
    content, is_cut = cut(extract.content)
    html, html_is_cut = cut(extract.html)
    if is_cut and PAGE_CUT not in extract.warnings:
        extract = replace(extract, warnings=(*extract.warnings, PAGE_CUT))
    header: dict[str, Any] = asdict(extract)
    header.update(content="", html="")
    return Frame(header, content, b"" if html_is_cut else html)


def cut(text: str) -> tuple[bytes, bool]:
    """Return a text as bytes, cut at the end of a block if an answer cannot hold it, and whether it was cut."""
    data = text.encode()
    if len(data) <= MOST_CONTENT:
        return data, False
    end = max(data.rfind(b"\n\n", 0, MOST_CONTENT), 0) or MOST_CONTENT
    return data[:end].decode(errors="ignore").encode(), True
