"""The demo's documents: Python's documentation topics and the descriptions of the installed distributions.

Nothing is read before `passages()` is called.
"""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote_plus

DOCS = "https://docs.python.org/3/"
PASSAGE_SIZE = 900
DESCRIPTION_SIZE = 20_000  # some descriptions carry a whole changelog

# pydoc's topics are Sphinx labels, and a label is an anchor: `with` is reference/compound_stmts.html#with.
PAGES = {
    "reference/compound_stmts.html": "async class compound else for function if try while with",
    "reference/simple_stmts.html": (
        "assert assignment augassign break continue del global import nonlocal pass raise return yield"
    ),
    "reference/expressions.html": (
        "assignment-expressions atom-identifiers atom-literals attribute-references await binary bitwise booleans "
        "calls comparisons conversions dict exprlists in lambda lists operator-summary power shifting slicings "
        "subscriptions unary"
    ),
    "reference/datamodel.html": (
        "attribute-access callable-types context-managers customization numeric-types objects sequence-types "
        "specialnames types"
    ),
    "reference/executionmodel.html": "dynamic-features exceptions execmodel naming",
    "reference/lexical_analysis.html": "floating id-classes identifiers imaginary integers numbers strings",
    "library/stdtypes.html": (
        "bltin-code-objects bltin-ellipsis-object bltin-null-object bltin-type-objects specialattrs string-methods "
        "truth typesfunctions typesmapping typesmethods typesmodules typesseq typesseq-mutable"
    ),
    "library/string.html": "formatstrings",
    "library/pdb.html": "debugger",
    "library/__main__.html": "__main__",
}

_HEADING = re.compile(r"(?m)^(\S.*)\n(?:\*{3,}|={3,}|-{3,}|~{3,}|\^{3,})\n")
# As much as fits up to the end of a paragraph, else of a word, else a hard cut.
_PASSAGE = re.compile(rf"(?s).{{1,{PASSAGE_SIZE}}}(?:\n\n|\Z)|.{{1,{PASSAGE_SIZE}}}\s|.{{1,{PASSAGE_SIZE}}}")
_FIELD = re.compile(r"(?ms)^([A-Za-z-]+): (.*?)(?=^[A-Za-z-]+: |\Z)")
_HTTP_URL = re.compile(r"(?a)https?://[\w.-]+(?::\d+)?(?:[/?#][^\s\\<>\"]*)?")
# Badges, images, directives and rulers of a README: lines no reader would miss in a snippet.
_MARKUP = re.compile(r"(?m)^[ \t]*(?:\.\. |:[\w-]+:|\[?!\[|<|[=~*#^`\"+-]{3,}[ \t]*$).*\n?")
_PROJECT_LABELS = ("home", "doc", "source", "code", "repo")  # the pages about the project itself, best first


class Passage(NamedTuple):
    """Hold one stretch of text, a paragraph or a few, with the address and title it is shown under."""

    url: str
    title: str
    text: str

    @property
    def page(self) -> str:
        """Return the address without its fragment: what counts as one page."""
        return self.url.partition("#")[0]


def passages() -> Iterator[Passage]:
    """Read all documents of this machine, cut into passages."""
    from pydoc_data.topics import topics  # half a megabyte that only the demo needs

    yield from topic_passages(topics)
    yield from distribution_passages(importlib.metadata.distributions())


def topic_passages(topics: dict[str, str]) -> Iterator[Passage]:
    """Cut documentation topics into passages, each under the address of its own section."""
    pages = {label: page for page, labels in PAGES.items() for label in labels.split()}
    sections = [(pages.get(label), label, *section) for label, text in topics.items() for section in _sections(text)]
    anchors: dict[tuple[str | None, str], str] = {}
    for page, label, level, title, _ in sections:
        if level == 0:
            anchors.setdefault((page, title), label)
    seen = set()
    for page, label, _, title, text in sections:
        # Big topics (`compound`) hold smaller ones (`with`) again.
        if page is not None and (page, title) in seen:
            continue
        seen.add((page, title))
        if page is None:  # a topic newer than the table
            url = f"{DOCS}search.html?q={quote_plus(label)}"
        else:
            url = f"{DOCS}{page}#{anchors.get((page, title)) or _slug(title)}"
        yield from _cut(url, f"{title.replace('*', '')} - Python documentation", text)


def distribution_passages(distributions: Iterable[importlib.metadata.Distribution]) -> Iterator[Passage]:
    """Cut the descriptions of distributions into passages, each under the project's address."""
    seen = set()
    for distribution in distributions:
        try:
            # Not `.metadata`: the email parser behind it costs more than the rest of the index together.
            metadata = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
        except (OSError, UnicodeError):
            continue  # one broken installation hides no other
        head, _, body = metadata.partition("\n\n")
        fields = [(name, value.strip()) for name, value in _FIELD.findall(head)]
        first = dict(reversed(fields))
        name, url = first.get("Name", ""), _project_url(fields)
        if not name or not url or name in seen:
            continue
        seen.add(name)
        summary = first.get("Summary", "")
        description = _MARKUP.sub("", (body.strip() or first.get("Description", ""))[:DESCRIPTION_SIZE])
        title = f"{name}: {summary}" if summary else name
        yield from _cut(url, title, f"{title}\n\n{description}")


def _sections(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the number, title and text of each section under a heading."""
    parts = _HEADING.split(text)
    return ((number, parts[i], parts[i + 1]) for number, i in enumerate(range(1, len(parts), 2)))


def _slug(title: str) -> str:
    """Make the anchor Sphinx gives a section that has no label."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _cut(url: str, title: str, text: str) -> Iterator[Passage]:
    """Yield the text in passages of at most PASSAGE_SIZE characters."""
    for piece in _PASSAGE.findall(text):
        if piece.strip():
            yield Passage(url, title, piece.strip())


def _project_url(fields: list[tuple[str, str]]) -> str:
    """Choose the address of a distribution: home page, else another page of the project; "" when it names none."""
    labelled = [("home", value) for field, value in fields if field == "Home-page"]
    for field, value in fields:
        if field == "Project-URL":
            label, _, url = value.partition(",")
            labelled.append((label.lower(), url.strip()))
    for wanted in _PROJECT_LABELS:
        for label, url in labelled:
            if label.startswith(wanted) and _HTTP_URL.fullmatch(url):
                return url
    return ""
