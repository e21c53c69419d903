"""The main text of a page by trafilatura, which is loaded with this module (extra `fetch`).

Only its extraction is used: it never downloads, it never sees the page's URL, and its guesses at dates are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lxml.html import HtmlElement
from trafilatura import bare_extraction, load_html
from trafilatura import extract as extract_html
from trafilatura.utils import detect_encoding

from sift.fetch.extract import hygiene
from sift.fetch.extract.declared import Declarations
from sift.fetch.extract.links import Links
from sift.fetch.extract.model import Extract, Format

# A reader can skip what is too much but does not miss what is left out. `fast` spares the word lists of jusText, which
# take 34 MiB and find no more once recall is favoured.
_OPTIONS: dict[str, Any] = {"favor_recall": True, "fast": True, "include_tables": True, "include_comments": False}
_DECLARING = ("html", "meta", "title", "h1", "time", "script", "base")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_WORD = re.compile(r"[^\W_]+")
# Within a word `_` is no Markdown, and neither are brackets that nothing follows; code is left alone.
_NEEDLESS = re.compile(r"(?<!`)`++[^`\n]++`++|(?<=[^\W_])(?:\\_)++(?=[^\W_])|(?<!\\)\\\[[^\[\]\\`\n]*+\\\](?![(\[:\]])")
_PERMALINKS = frozenset(("¶", "#", "\N{SECTION SIGN}", "🔗", "\uf0c1", "Permalink", "[link]"))


def detect(body: bytes) -> Sequence[str]:
    """Guess the encodings of bytes that are no UTF-8, best first."""
    return [str(name) for name in detect_encoding(body)]


def extract(text: str, url: str, format: Format, *, html: bool = False) -> Extract | None:
    """Return the readable text of HTML, None when none is found. url: the page's. html: whether to add cleaned HTML."""
    tree = load_html(text)
    if tree is None:
        return None
    metadata = _declarations(tree).metadata()
    _prepare(tree, Links(url))
    found = bare_extraction(
        tree, include_formatting=format == "markdown", include_links=format == "markdown", **_OPTIONS
    )
    if found is None or not found.text:
        return None
    content = hygiene.markdown(_unescaped(found.text)) if format == "markdown" else hygiene.verbatim(found.text)
    cleaned = extract_html(tree, output_format="html", include_links=True, **_OPTIONS) if html else None
    return Extract(content, "trafilatura", html=hygiene.verbatim(cleaned or ""), **metadata)


def _unescaped(text: str) -> str:
    """Return Markdown without the escapes that it does not need, so that a name that is searched for is found."""
    parts = f"\n{text}".split("\n```")
    parts[::2] = [_NEEDLESS.sub(_bare, part) for part in parts[::2]]
    return "\n```".join(parts)[1:]


def _bare(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("`") else found[0].replace("\\", "")


def _declarations(tree: HtmlElement) -> Declarations:
    declarations = Declarations()
    for element in tree.iter(*_DECLARING):
        attributes = {str(name): str(value) for name, value in element.attrib.items()}
        if element.tag == "meta":
            declarations.meta(attributes)
        elif element.tag == "html":
            declarations.language(attributes.get("lang") or attributes.get("xml:lang"))
        elif element.tag == "time":
            declarations.time(attributes)
        elif element.tag == "title":
            declarations.title(element.text_content())
        elif element.tag == "h1":
            declarations.heading(element.text_content())
        elif attributes.get("type", "").lower() == "application/ld+json":
            declarations.json_ld(element.text or "")
    return declarations


def _prepare(tree: HtmlElement, links: Links) -> None:
    """Make links absolute, and mark code, in the tree: trafilatura would resolve links against the host alone."""
    base = tree.find(".//base[@href]")
    if base is not None:
        links.base(base.get("href"))
    for anchor in list(tree.iter("a")):
        target = links.absolute(anchor.get("href"))
        if target:
            anchor.set("href", target)
        elif anchor.text_content().strip() in _PERMALINKS:
            anchor.drop_tree()
        else:
            anchor.drop_tag()
    for block in tree.iter("pre"):
        _flatten(block)
    for heading in tree.iter(*_HEADINGS):
        _forget_anchors(heading)


def _forget_anchors(heading: HtmlElement) -> None:
    """Take off ids that only repeat a heading: trafilatura takes `multiple-unrelated-errors` for related links."""
    words = set(_WORD.findall(heading.text_content().lower()))
    for element in (heading, heading.getparent()):
        name = element.get("id") if element is not None else None
        if name and words.issuperset(_WORD.findall(name.lower())):
            del element.attrib["id"]


def _flatten(block: HtmlElement) -> None:
    """Leave a `pre` one `span` with all its text, which trafilatura takes for code in any case."""
    for line_break in block.iter("br"):
        line_break.tail = "\n" + (line_break.tail or "")
    text, tail = block.text_content(), block.tail
    block.clear()
    block.tail = tail
    span = block.makeelement("span")
    span.text = text
    block.append(span)
