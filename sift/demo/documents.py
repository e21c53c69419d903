"""The demo's documents: Python's documentation as it comes with Python, under its docs.python.org addresses.

The topics of pydoc are sections of the language reference; docstrings of the standard library stand for its pages.
Nothing is read before `passages()` is called.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple
from urllib.parse import quote_plus

DOCS = "https://docs.python.org/3/"
PASSAGE_SIZE = 900

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
# Public modules without a page, or whose docstrings say little.
NO_PAGE = frozenset(
    "antigravity distutils encodings genericpath idlelib lib2to3 ntpath nturl2path opcode pydoc_data sre_compile "
    "sre_constants sre_parse test this turtledemo".split()
)
# Modules that are described on the page of another.
ON_PAGE_OF = {"builtins": "functions", "cProfile": "profile", "posixpath": "os.path", "pstats": "profile"}
# Modules inside a package with a page of their own; others are described on the package's.
OWN_PAGE = frozenset(
    "collections.abc concurrent.futures curses.ascii curses.panel email.charset email.contentmanager email.encoders "
    "email.errors email.generator email.header email.headerregistry email.iterators email.message email.mime "
    "email.parser email.policy email.utils html.entities html.parser http.client http.cookiejar http.cookies "
    "http.server importlib.metadata importlib.resources logging.config logging.handlers multiprocessing.shared_memory "
    "tkinter.colorchooser tkinter.dnd tkinter.font tkinter.messagebox tkinter.scrolledtext tkinter.ttk unittest.mock "
    "urllib.error urllib.parse urllib.request urllib.robotparser xml.dom xml.dom.minidom xml.dom.pulldom "
    "xml.etree.ElementTree xml.sax xml.sax.handler xmlrpc.client xmlrpc.server".split()
)
_DOCSTRING = r"""[rR]?(?:\"{3}(.*?)\"{3}|'{3}(.*?)'{3})"""
_MODULE = re.compile(rf"(?s)\A(?:[ \t]*(?:#[^\n]*)?\n)*{_DOCSTRING}")
# A public class or function of a module: the arguments may contain parentheses, but only one level of them.
_MEMBER = re.compile(
    r"(?ms)^(?:async )?(?:def|class) ([A-Za-z]\w*)(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?[^\n:]*:\n[ ]+" + _DOCSTRING
)


class Passage(NamedTuple):
    """A stretch of text, a paragraph or a few, with the URL and title under which it is shown."""

    url: str
    title: str
    text: str

    @property
    def page(self) -> str:
        """Return the URL without its fragment, which identifies the page."""
        return self.url.partition("#")[0]


def passages() -> Iterator[Passage]:
    """Yield the documentation on this machine, cut into passages."""
    from pydoc_data.topics import topics  # half a megabyte that only the demo needs

    yield from topic_passages(topics)
    yield from module_passages(Path(sysconfig.get_path("stdlib")), sys.modules)


def topic_passages(topics: dict[str, str]) -> Iterator[Passage]:
    """Yield documentation topics in passages, each under the URL of its section."""
    pages = {label: page for page, labels in PAGES.items() for label in labels.split()}
    sections = [(pages.get(label), label, *section) for label, text in topics.items() for section in _sections(text)]
    anchors: dict[tuple[str | None, str], str] = {}
    for page, label, level, title, _ in sections:
        if level == 0:
            anchors.setdefault((page, title), label)
    seen = set()
    for page, label, _, title, text in sections:
        # Large topics (`compound`) contain smaller ones (`with`).
        if page is not None and (page, title) in seen:
            continue
        seen.add((page, title))
        if page is None:  # a topic that is newer than the table
            url = f"{DOCS}search.html?q={quote_plus(label)}"
        else:
            url = f"{DOCS}{page}#{anchors.get((page, title)) or _slug(title)}"
        yield from _cut(url, f"{title.replace('*', '')} - Python documentation", text)


def module_passages(library: Path, loaded: Mapping[str, ModuleType]) -> Iterator[Passage]:
    """Yield the docstrings of the standard library in passages, each under the URL of its module's page.

    library: the directory of the sources. loaded: imported modules, from which those written in C are read.
    """
    texts: dict[str, list[str]] = {}  # by page; a module's own docstring comes first
    for name in sorted(sys.stdlib_module_names - NO_PAGE):
        if name.startswith("_"):
            continue
        for module, path in _sources(library, name):
            page = _page(module)
            texts.setdefault(page, []).extend(_described(path.read_text("utf-8", "replace")))
        if name not in texts and name in loaded:
            texts[name] = list(_described_object(loaded[name]))
    for page, found in texts.items():
        title = f"{page}: {synopsis}" if (synopsis := _synopsis(found)) else page
        yield from _cut(
            f"{DOCS}library/{ON_PAGE_OF.get(page, page).lower()}.html",
            f"{title} - Python documentation",
            "\n\n".join(found),
        )


def _sources(library: Path, name: str) -> Iterator[tuple[str, Path]]:
    """Yield the dotted name and the source of a module and, in a package, of every module below it."""
    single, package = library / f"{name}.py", library / name
    if single.is_file():
        yield name, single
    for path in sorted(package.rglob("*.py"), key=lambda path: (path.name != "__init__.py", path)):
        parts = path.relative_to(library).with_suffix("").parts
        if not {"test", "tests", "_bundled", "__main__"} & set(parts):
            yield ".".join(part for part in parts if part != "__init__"), path


def _page(module: str) -> str:
    """Return the module on whose page a module is described: itself, or a package that it is in."""
    while "." in module and module not in OWN_PAGE:
        module = module.rpartition(".")[0]
    return module


def _described(source: str) -> Iterator[str]:
    """Yield the docstrings of a module and of its public classes and functions, from its source."""
    if module := _MODULE.match(source):
        yield (module[1] or module[2]).strip()
    for member in _MEMBER.finditer(source):
        yield f"{member[1]}: {(member[2] or member[3] or '').strip()}"


def _described_object(module: ModuleType) -> Iterator[str]:
    """Yield the docstrings of a module and of its public classes and functions, from the module itself."""
    if module.__doc__:
        yield module.__doc__.strip()
    for name, member in vars(module).items():
        if callable(member) and not name.startswith("_") and member.__doc__:
            yield f"{name}: {member.__doc__.strip()}"


def _synopsis(texts: list[str]) -> str:
    """Return the first line of a page's text, if that is a module's docstring and short enough for a title."""
    line = re.split(r"\n|\. (?=[A-Z])", texts[0], maxsplit=1)[0].rstrip(".") if texts else ""
    return line if len(line) <= 80 and not re.match(r"[\w.]+: ", line) else ""


def _sections(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the number, title and text of each section that has a heading."""
    parts = _HEADING.split(text)
    return ((number, parts[i], parts[i + 1]) for number, i in enumerate(range(1, len(parts), 2)))


def _slug(title: str) -> str:
    """Return the anchor that Sphinx gives a section without a label."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _cut(url: str, title: str, text: str) -> Iterator[Passage]:
    """Yield the text in passages of at most PASSAGE_SIZE characters."""
    for piece in _PASSAGE.findall(text):
        if piece.strip():
            yield Passage(url, title, piece.strip())
