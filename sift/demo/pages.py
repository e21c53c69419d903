"""The demo's pages as HTML, so that what the demo finds can be opened, too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape
from itertools import groupby
from textwrap import dedent

from sift.demo.documents import Passage

_BULLET = re.compile(r"[*-] ")


def page_html(passages: Iterable[Passage]) -> bytes:
    """Return one page, made of its passages in order; those of one section follow each other."""
    sections = [(title, list(found)) for title, found in groupby(passages, lambda passage: passage.title)]
    head, _, site = sections[0][0].rpartition(" - ")
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(sections[0][0])}</title></head>',
        f"<body><header><p>{escape(site)}</p></header><main><article><h1>{escape(head)}</h1>",
    ]
    for number, (title, found) in enumerate(sections):
        if number:
            parts.append(f"<h2>{escape(title.rpartition(' - ')[0])}</h2>")
        parts += _blocks("\n\n".join(passage.text for passage in found))
    parts.append("</article></main></body></html>")
    return "\n".join(parts).encode()


def _blocks(text: str) -> Iterator[str]:
    """Yield the blocks of a plain text as HTML: what is indented below a colon is code, what has bullets a list."""
    code: list[str] = []
    introduced = False
    for block in text.split("\n\n"):
        if introduced and block.startswith("   ") and not _BULLET.match(block.lstrip()):
            code.append(block)
            continue
        yield from _code(code)
        code.clear()
        if _BULLET.match(block.lstrip()):
            items = re.split(r"(?m)^ *[*-] ", block)[1:]
            yield f"<ul>{''.join(f'<li>{_prose(item)}</li>' for item in items)}</ul>"
        elif block.strip():
            yield f"<p>{_prose(block)}</p>"
        introduced = block.rstrip().endswith(":")
    yield from _code(code)


def _code(blocks: list[str]) -> Iterator[str]:
    if blocks:
        code = dedent("\n\n".join(blocks))
        yield f"<pre><code>{escape(code)}</code></pre>"


def _prose(text: str) -> str:
    return escape(" ".join(text.split()))
