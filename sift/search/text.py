"""Turning a vendor's title or snippet into plain text (contract: Texts). Every step is linear in the text's length."""

from __future__ import annotations

import html
import re
from contextlib import suppress

# Real elements only: code such as `#include <stdio.h>` or `List<String>` is text and stays.
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span strike strong sub sup tt"
    " u var wbr".split()
)
_BREAKING = frozenset(
    "address area article aside audio base blink blockquote body br button canvas caption center col colgroup data"
    " datalist dd details dialog dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4"
    " h5 h6 head header hgroup hr html iframe img input label legend li link main map marquee math menu meta meter nav"
    " noscript object ol optgroup option output p param picture pre progress rp rt ruby script search section select"
    " slot source style summary svg table tbody td template textarea tfoot th thead time title tr track ul"
    " video".split()
)
# `[^<>]*` stops at the next `<`, so a text of a million `<` is read once and not once for each of them.
_TAG = re.compile(r"<(?:/?([A-Za-z][A-Za-z0-9]*)(?=[\s/>])|[!?])[^<>]*>")
# Controls, bidi overrides, embeddings and isolates, and halves of surrogate pairs.
_UNFIT = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_PRINTABLE = bytes(range(0x20, 0x7F))  # taking them out of ASCII text is a third of the cost of str.isprintable


def plain(text: str) -> str:
    """Return a text as plain text: tags and entities out, white space folded, control and bidi characters out."""
    if "<" in text:
        text = _TAG.sub(_without_tag, text)
    if "&" in text:
        with suppress(ValueError):  # a numeric entity of more digits than int() takes; the text stays as it is
            text = html.unescape(text)
    # Printable text holds no white space but blanks, so most texts are clean at a glance.
    printable = not text.encode().translate(None, _PRINTABLE) if text.isascii() else text.isprintable()
    if printable and "  " not in text:
        return text.strip(" ")
    return " ".join(_UNFIT.sub("", text).split())


def _without_tag(tag: re.Match[str]) -> str:
    name = (tag[1] or "").lower()
    if name in _INLINE:
        return ""
    return " " if not name or name in _BREAKING else tag[0]
