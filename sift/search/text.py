"""A vendor's title, snippet or date as plain text (contract: Texts). Every step is linear in the text's length."""

from __future__ import annotations

import html
import re
from html.entities import html5

# Known elements only: code such as `#include <stdio.h>` or `List<String>` is text and stays.
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
_GAPS = dict.fromkeys(_INLINE, "") | dict.fromkeys(_BREAKING, " ")
"""What takes the place of an element's tags."""
_ALONE = frozenset(["br", "hr", "img", "p", "wbr"])
"""Elements whose tags are markup by themselves: without attributes, and without a closing tag."""

# No attribute here holds a `<`, so a failing match never reads past the next one: this keeps scanning linear.
_ATTRIBUTE = r"""[A-Za-z_:@][\w:.@-]*+(?:\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'|[^\s"'<>=`]++))?+"""
_ATTRIBUTES = rf"(?:[\s/]++{_ATTRIBUTE})*+[\s/]*+"
_FLAGS = re.IGNORECASE | re.ASCII | re.DOTALL
_TAG = re.compile(rf"<(/?)([A-Za-z][A-Za-z0-9]*+)({_ATTRIBUTES})>", re.ASCII)
_ENTITY = re.compile("&(?:[A-Za-z][A-Za-z0-9]{1,31}|#(?=[0-9])0*+[0-9]{0,7}|#[Xx](?=[0-9A-Fa-f])0*+[0-9A-Fa-f]{0,6});")
_PROLOG = re.compile(r"\A(?:\s*+<(?:\?xml|!doctype)\b[^<>]*+>)++(?=\s*+<)", _FLAGS)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_UNUSUAL = re.compile("<[!?]|</[Ss]")  # without these, _without_hidden has nothing to do
# What is not text as a whole, with its end.
_HIDDEN = [(re.compile("-->"), re.compile("<!--.*?-->", re.DOTALL))] + [
    (re.compile(rf"</{name}\s*+>", _FLAGS), re.compile(rf"<{name}{_ATTRIBUTES}>.*?</{name}\s*+>", _FLAGS))
    for name in ("script", "style")
]

# Controls but white space, soft hyphens, zero-width characters, bidi marks, embeddings, overrides and isolates,
# invisible operators, annotation marks, tags, halves of surrogate pairs, and the Hangul fillers, which are invisible.
_UNFIT = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]"
)
_FILLERS = ("\u3164", "\uffa0")  # the only ones that str.isprintable lets pass
_JOINED = "\u0600-\u109f\u1780-\u18af\ua840-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00011fff\U0001e900-\U0001e95f"
_EMOJI = "\xa9\xae\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
# Joiners shape letters of cursive and Indic scripts, which they follow, and tie two emoji together.
_STRAY_JOINER = re.compile(
    f"(?<![{_JOINED}{_EMOJI}\ufe0f])[\u200c\u200d]|(?<=[{_EMOJI}\ufe0f])(?:\u200c|\u200d(?![{_EMOJI}]))"
)
_PRINTABLE = bytes(range(0x20, 0x7F))


def plain(text: str) -> str:
    """Return a text without markup and unfit characters, entities decoded once, white space folded."""
    if "<" in text:
        text = _without_tags(_without_hidden(text) if _UNUSUAL.search(text) else text)
    if "&" in text:
        text = _ENTITY.sub(_decoded, text)
    return tidy(text)


def tidy(text: str) -> str:
    """Return a text without unfit characters, white space folded."""
    # Printable text holds no white space but blanks, so most texts are clean at a glance. For ASCII, deleting all that
    # is printable is faster than str.isprintable.
    if text.isascii():
        is_fit = not text.encode().translate(None, _PRINTABLE)
    else:
        is_fit = text.isprintable() and not any(filler in text for filler in _FILLERS)
    if is_fit and "  " not in text:
        return text.strip(" ")
    text = _UNFIT.sub("", text)
    if "\u200c" in text or "\u200d" in text:
        text = _STRAY_JOINER.sub("", text)
    return " ".join(text.split())


def cut(text: str, limit: int) -> str:
    """Return a text in at most `limit` characters: cut behind a word if possible, with `…` behind the cut."""
    if len(text) <= limit:
        return text
    head = text[:limit]  # one character more than can stay: if it is a blank, a whole word stands before it
    blank = max(head.rfind(" "), head.rfind("\n"))
    return head[: blank if blank > 0 else -1].rstrip() + "…"


def _without_hidden(text: str) -> str:
    """Return a text without comments, scripts, styles and the head of a document; of CDATA the contents stay."""
    text = _CDATA.sub(r"\1", _PROLOG.sub("", text))
    for ending, whole in _HIDDEN:
        last = 0
        for end in ending.finditer(text):
            last = end.end()
        if last:  # every beginning before it finds an end, so that none makes the search read all the rest in vain
            text = whole.sub(" ", text[:last]) + text[last:]
    return text


def _without_tags(text: str) -> str:
    """Return a text without tags of known elements, as far as these are closed, have a value or stand alone."""
    parts = _TAG.split(text)  # text, slash, name, attributes, text, slash …
    places = range(1, len(parts), 4)
    closed = {parts[at + 1].lower(): at for at in places if parts[at]}
    opened = set(_ALONE)
    kept = [parts[0]]
    for at in places:
        slash, name, attributes, behind = parts[at : at + 4]
        gap = _GAPS.get(element := name.lower())
        if gap is not None and (
            element in opened if slash else element in _ALONE or "=" in attributes or closed.get(element, -1) > at
        ):
            opened.add(element)
            kept += (gap, behind)
        else:
            kept += (f"<{slash}{name}{attributes}>", behind)
    return "".join(kept)


def _decoded(entity: re.Match[str]) -> str:
    reference = entity[0]
    return html.unescape(reference) if reference[1] == "#" else html5.get(reference[1:], reference)
