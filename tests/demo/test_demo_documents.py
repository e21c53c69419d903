"""The documents: addresses, titles and passages."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType

from sift.demo.documents import PAGES, PASSAGE_SIZE, module_passages, passages, topic_passages

DOCS = "https://docs.python.org/3/"
COMPOUND = 'Compound statements\n*******************\n\nIntro.\n\n\nThe *x* "with" statement\n======\n\nBody.\n'
WITH = 'The *x* "with" statement\n******\n\nBody.\n'


def pages(library: Path, *loaded: ModuleType) -> dict[str, tuple[str, str]]:
    """Return title and text of each page that is described in a directory of sources and by imported modules."""
    found = module_passages(library, {module.__name__: module for module in loaded})
    return {passage.url.removeprefix(f"{DOCS}library/"): (passage.title, passage.text) for passage in found}


def write(library: Path, **sources: str) -> None:
    for name, text in sources.items():
        path = library / f"{name.replace('__in__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_passages_of_this_machine_are_short_titled_and_on_docs_python_org() -> None:
    """contract: Demo: the language's own documentation, at its real addresses, and nothing else."""
    found = list(passages())
    assert all(passage.title and 0 < len(passage.text) <= PASSAGE_SIZE for passage in found)
    urls = {passage.url for passage in found}
    assert all(url.startswith(DOCS) for url in urls)
    assert {
        f"{DOCS}reference/compound_stmts.html#with",
        f"{DOCS}reference/datamodel.html#context-managers",
        f"{DOCS}library/stdtypes.html#string-methods",
        *(f"{DOCS}library/{name}.html" for name in ("asyncio", "pathlib", "urllib.parse", "math", "functions")),
    } <= urls


def test_every_topic_label_stands_on_one_page() -> None:
    """contract: Demo: a label has one docs.python.org address."""
    labels = " ".join(PAGES.values()).split()
    assert len(labels) == len(set(labels))


def test_section_that_is_a_topic_too_is_kept_once_under_its_label() -> None:
    """contract: Demo: `compound` holds `with` again, which must not be found twice."""
    found = list(topic_passages({"compound": COMPOUND, "with": WITH}))
    assert [passage.url for passage in found] == [
        f"{DOCS}reference/compound_stmts.html#compound",
        f"{DOCS}reference/compound_stmts.html#with",
    ]
    assert found[1].title == 'The x "with" statement - Python documentation'


def test_section_without_label_gets_the_anchor_of_its_title() -> None:
    """contract: Demo: addresses lead to the section quoted."""
    found = list(topic_passages({"compound": COMPOUND}))
    assert found[1].url == f"{DOCS}reference/compound_stmts.html#the-x-with-statement"


def test_unknown_topic_leads_to_the_search_page() -> None:
    """contract: Demo: a topic of a newer Python has an address that is true, if vague."""
    found = list(topic_passages({"new thing": "New thing\n*********\n\nBody.\n"}))
    assert [passage.url for passage in found] == [f"{DOCS}search.html?q=new+thing"]


def test_module_is_described_by_its_docstrings_under_its_own_page(tmp_path: Path) -> None:
    """contract: Demo: the module's own words, and those of its public classes and functions."""
    source = [
        '# A comment.\n\n"""Heaps (a.k.a. queues). See a book.\n\nMore of them."""',
        'def push(heap, *, key=(1, (2))) -> None:\n    """Push it."""',
        "class Heap:\n    '''A heap.'''\n    def method(self):\n        '''Not this.'''",
        'def _private():\n    """Not that."""',
        'def bare():\n    return 1\n\ndef other():\n    r"""Another."""\n',
    ]
    write(tmp_path, heapq="\n".join(source))
    assert pages(tmp_path) == {
        "heapq.html": (
            "heapq: Heaps (a.k.a. queues) - Python documentation",
            "Heaps (a.k.a. queues). See a book.\n\nMore of them.\n\npush: Push it.\n\nHeap: A heap.\n\nother: Another.",
        )
    }


def test_package_is_one_page_and_its_modules_with_pages_are_their_own(tmp_path: Path) -> None:
    """contract: Demo: `asyncio.tasks` has no page of its own, `urllib.parse` has one."""
    write(
        tmp_path,
        asyncio__in____init__='"""Asyncio."""\n',
        asyncio__in__aa='"""First."""\ndef gather():\n    """Run."""\n',
    )
    write(
        tmp_path,
        urllib__in____init__="",
        urllib__in__parse='"""Parse URLs."""\n',
        urllib__in__test__in__x='"""No."""\n',
    )
    found = pages(tmp_path)
    assert found["asyncio.html"] == (
        "asyncio: Asyncio - Python documentation",
        "Asyncio.\n\nFirst.\n\ngather: Run.",
    )
    assert found["urllib.parse.html"][1] == "Parse URLs."
    assert "urllib.html" not in found


def test_module_without_a_page_is_left_out_or_on_the_page_of_another(tmp_path: Path) -> None:
    """contract: Demo: no address is made up."""
    write(
        tmp_path,
        this='"""Zen."""\n',
        _weakrefset='"""Private."""\n',
        notstdlib='"""Other."""\n',
        cProfile='"""Profile."""\n',
    )
    assert pages(tmp_path) == {"profile.html": ("cProfile: Profile - Python documentation", "Profile.")}


def test_module_in_c_is_described_when_it_is_loaded(tmp_path: Path) -> None:
    """contract: Demo: what has no source is read from the module, and nothing is imported for it."""
    loaded = ModuleType("math", "Mathematics.")
    vars(loaded).update(sin=math.sin, pi=math.pi, _hidden=math.cos)
    (title, text), *none = pages(tmp_path, loaded).values()
    assert none == []
    assert title == "math: Mathematics - Python documentation"
    assert text.startswith("Mathematics.\n\nsin: Return the sine")
    assert "cosine" not in text
    assert "pi" not in text


def test_page_without_a_synopsis_is_titled_by_its_name(tmp_path: Path) -> None:
    """contract: Demo: neither a member's docstring nor a paragraph becomes a title."""
    write(tmp_path, enum='class Flag:\n    """A flag."""\n', glob=f'"""{"Long " * 30}."""\n')
    assert {name: title for name, (title, _) in pages(tmp_path).items()} == {
        "enum.html": "enum - Python documentation",
        "glob.html": "glob - Python documentation",
    }
