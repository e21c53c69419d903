"""The builtin extractor: a page's text by the standard library's parser, for when there is no better one.

Linear: what that parser reads again and again (comments, declarations and scripts without an end, tags that never
close) is taken out before, and nothing recurses.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from html.parser import HTMLParser

from sift.fetch.extract import hygiene
from sift.fetch.extract.declared import Declarations
from sift.fetch.extract.links import Links
from sift.fetch.extract.model import MOST_CONTENT, TIMEOUT, Extract, Format
from sift.fetch.extract.writer import Writer

MOST_SECONDS = 2.5
"""Time after which the text so far has to do."""
_PIECE = 64 << 10

_HIDDEN = ("script", "style", "xmp", "iframe", "noembed", "noframes", "svg", "math", "template")
_OPENING = re.compile(rf"<(?:!--|[!?]|({'|'.join(_HIDDEN)})(?=[\s/>]))", re.IGNORECASE)
_END_OF = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _HIDDEN}
_JSON_LD = re.compile(r"""[^>]*?\btype\s*=\s*["']?application/ld\+json[^>]*>""", re.IGNORECASE)
_UNFINISHED = re.compile(r"<[/a-zA-Z!?][^<]*")
_LONG_REFERENCE = re.compile("&#[0-9]{8,}")  # no character, and too many digits for `int`

_SKIPPED = frozenset(
    "head nav footer aside noscript button select textarea dialog menu object audio video canvas".split()
)
_SKIPPED_ROLES = frozenset("navigation search banner contentinfo complementary menu menubar dialog".split())
# Whole names of classes and ids that leave no doubt; parts of names would hit content as well.
_SKIPPED_NAMES = frozenset(
    "breadcrumb breadcrumbs docnav footer mainmenu menu nav navbar navfooter navheader navigation sidebar".split()
)
_MAIN = frozenset(("main", "article"))
_CODE = frozenset(("code", "kbd", "samp", "tt"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    "address article body caption center dd details div dl dt fieldset figcaption figure form header hgroup hr html"
    " legend main p section summary".split()
)
_IN_HEAD = frozenset(("title", "meta", "link", "base", "noscript"))
_MEANT = _SKIPPED | _MAIN | _CODE | _HEADINGS.keys() | _BLOCKS
_MEANT |= frozenset("a br pre ul ol li blockquote table tr td th title time".split())
_VOID = frozenset("area base br col embed hr img input link meta param source track wbr".split())


def extract(
    text: str,
    url: str,
    format: Format,
    *,
    clock: Callable[[], float] = time.monotonic,
    seconds: float = MOST_SECONDS,
) -> Extract:
    """Return the readable text of HTML. url: the page's. seconds: after which the text so far has to do."""
    ends = clock() + seconds
    declarations = Declarations()
    parser = _Parser(Writer(format), Links(url), declarations)
    markup = without_hidden(text, declarations)
    warnings: list[str] = []
    for at in range(0, len(markup), _PIECE):
        if clock() > ends:
            warnings.append(TIMEOUT)
            break
        if parser.writer.size > MOST_CONTENT:
            break
        parser.feed(markup[at : at + _PIECE])
    else:
        parser.close()
    content = parser.writer.content()
    content = hygiene.markdown(content) if format == "markdown" else hygiene.verbatim(content)
    return Extract(content, "builtin", warnings=tuple(warnings), **declarations.metadata())


def without_hidden(text: str, declarations: Declarations | None = None) -> str:
    """Return markup without what is never shown and what no tag ends; what JSON-LD declares is noted."""
    text = _LONG_REFERENCE.sub("\N{REPLACEMENT CHARACTER}", text)
    kept: list[str] = []
    at = 0
    while opening := _OPENING.search(text, at):
        kept.append(text[at : opening.start()])
        if text[opening.start() - 1 : opening.start()] == "<":
            kept.append(" ")
        at = _end_of(text, opening, declarations)
        if at < 0:  # it hides all the rest
            break
    else:
        kept.append(text[at:])
    text = "".join(kept)
    last = text.rfind(">") + 1
    return text[:last] + _UNFINISHED.sub("", text[last:])


def _end_of(text: str, opening: re.Match[str], declarations: Declarations | None) -> int:
    """Return where a hidden part ends, -1 if it does not."""
    name = (opening[1] or "").lower()
    if not name:
        mark = "-->" if opening[0] == "<!--" else ">"
        found = text.find(mark, opening.end())
        return found + len(mark) if found >= 0 else -1
    end = _END_OF[name].search(text, opening.end())
    if end and name == "script" and declarations:
        start = _JSON_LD.match(text, opening.end(), end.start())
        if start:
            declarations.json_ld(text[start.end() : end.start()])
    return text.find(">", end.end()) + 1 or -1 if end else -1


class _Parser(HTMLParser):
    """Hands what it meets to the writer. Elements are counted, not nested: a page's depth costs nothing."""

    def __init__(self, writer: Writer, links: Links, declarations: Declarations) -> None:
        super().__init__(convert_charrefs=True)
        self.writer = writer
        self._links = links
        self._declarations = declarations
        self._skipped = _Region()
        self._main = _Region()
        self._href = ""
        self._pre: list[str] | None = None
        self._title: list[str] | None = None
        self._heading = ""

    def updatepos(self, i: int, j: int) -> int:
        """Do not count lines: nobody asks where something was."""
        return j

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a tag that opens an element."""
        if not attrs and tag not in _MEANT:
            self._skipped.opened(tag)
            return
        attributes = dict(attrs)
        self._declared(tag, attributes)
        if tag in _MAIN or tag == "body" or (self._skipped.tag == "head" and tag not in _IN_HEAD):
            self._skipped.leave()  # a page is not lost whose head or navigation never ends
        if self._skipped.opened(tag):
            return
        role = (attributes.get("role") or "").lower()
        if tag in _SKIPPED or role in _SKIPPED_ROLES or "hidden" in attributes or _is_boilerplate(attributes):
            if tag not in _VOID and tag not in ("body", "html"):
                self.writer.end()
                self._skipped.enter(tag)
            return
        if not self._main.opened(tag) and (tag in _MAIN or role == "main"):
            self.writer.end()
            self._main.enter(tag)
            self.writer.is_main = True
        if self._pre is None:
            self._begin(tag, attributes)
        elif tag == "br":
            self._pre.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """Take a tag that closes an element."""
        if tag == "title" and self._title is not None:
            self._declarations.title("".join(self._title))
            self._title = None
        if self._skipped.tag:
            self._skipped.closed(tag)
            return
        if self._pre is not None:
            if tag == "pre":
                self._end_pre()
            return
        self._finish(tag)
        if self._main.closed(tag):
            self.writer.end()
            self.writer.is_main = False

    def handle_data(self, data: str) -> None:
        """Take text."""
        if self._title is not None:
            self._title.append(data)
        elif self._skipped.tag:
            return
        elif self._pre is not None:
            self._pre.append(data)
        else:
            self.writer.text(data)

    def close(self) -> None:
        """Take what is left."""
        super().close()
        if self._pre is not None:
            self._end_pre()

    def _declared(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag == "meta" or "itemprop" in attributes:
            self._declarations.meta(attributes)
        if tag == "time":
            self._declarations.time(attributes)
        elif tag == "html":
            self._declarations.language(attributes.get("lang") or attributes.get("xml:lang"))
        elif tag == "base":
            self._links.base(attributes.get("href"))
        elif tag == "title" and not self._main.tag:
            self._title = []
        elif tag == "body":
            self._title = None

    def _begin(self, tag: str, attributes: dict[str, str | None]) -> None:
        writer = self.writer
        if tag in _HEADINGS:
            self._heading = tag
            writer.heading(_HEADINGS[tag])
        elif tag in _CODE:
            writer.code(opens=True)
        elif tag == "a":
            self._href = attributes.get("href") or ""
            writer.open_link()
        elif tag == "br":
            writer.line_break()
        elif tag == "pre":
            self._pre = []
        elif tag in ("ul", "ol"):
            writer.open_list(numbered=tag == "ol")
        elif tag == "li":
            writer.item()
        elif tag == "blockquote":
            writer.quote(opens=True)
        elif tag == "table":
            writer.open_table()
        elif tag == "tr":
            writer.row()
        elif tag in ("td", "th"):
            writer.cell(opens=True)
        elif tag in _BLOCKS:
            writer.end()

    def _finish(self, tag: str) -> None:
        writer = self.writer
        if tag in _HEADINGS:
            text = writer.end()
            if tag == "h1":
                self._declarations.heading(text)
        elif tag in _CODE:
            writer.code(opens=False)
        elif tag == "a":
            writer.close_link(self._links.absolute(self._href))
        elif tag in ("ul", "ol"):
            writer.close_list()
        elif tag == "blockquote":
            writer.quote(opens=False)
        elif tag == "table":
            writer.close_table()
        elif tag in ("td", "th", "tr"):
            writer.cell(opens=False)
        elif tag == "li" or tag in _BLOCKS:
            writer.end()

    def _end_pre(self) -> None:
        self.writer.verbatim("".join(self._pre or ()))
        self._pre = None


def _is_boilerplate(attributes: dict[str, str | None]) -> bool:
    """Return whether an element is named as a part that surrounds the page's text."""
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}"[:200].lower()
    return not names.isspace() and not _SKIPPED_NAMES.isdisjoint(names.split())


class _Region:
    """A part of a page: from the tag that opens an element to the one that closes it."""

    def __init__(self) -> None:
        self.tag = ""
        self._depth = 0

    def enter(self, tag: str) -> None:
        """Begin with an element."""
        self.tag = tag
        self._depth = 1

    def leave(self) -> None:
        """End it here."""
        self.tag = ""

    def opened(self, tag: str) -> bool:
        """Take an opening tag and return whether it is inside."""
        self._depth += self.tag == tag
        return bool(self.tag)

    def closed(self, tag: str) -> bool:
        """Take a closing tag and return whether it ends the part."""
        if not self.tag or tag != self.tag:
            return False
        self._depth -= 1
        if not self._depth:
            self.leave()
        return not self.tag
