"""Queries and rankings: relevant, different from each other, and robust against any input."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sift.demo.documents import Passage
from sift.demo.index import ENOUGH, Index
from sift.demo.query import MAX_WORDS, Query, Site, excerpt, parse_query
from tests.vendors import STAND_INS

if TYPE_CHECKING:
    from conftest import Client

PASSAGES = (
    Passage("https://a.example/x#1", "Alpha", "one two three"),
    Passage("https://a.example/x#2", "Alpha more", "two three, managers of contexts"),
    Passage("https://b.example/", "Beta", "three four"),
)
# What FTS5 would read as syntax, and where its tokenizer and ours might differ.
HOSTILE = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(["AND", "OR", "NOT", "NEAR(", ")", "^a", "a*", 'a"b', '"', "-x", "title:", "{a b}:", "'"]),
        st.sampled_from(["two", "three", "site:", "site:a.example", '"two three"']),
        st.sampled_from(["\0", "\ud800", "²", "ª", "\u0301", "中文"]),
    ),
    max_size=12,
).map(" ".join)


@pytest.fixture(scope="module")
def index() -> Iterator[Index]:
    """Search the passages above, for all that only looks."""
    with closing(Index(PASSAGES)) as made:
        yield made


def urls(index: Index, query: Query) -> list[str]:
    return [page.best.url for page in index.search(query, title_weight=2.0)]


@pytest.mark.parametrize("vendor", STAND_INS)
@pytest.mark.parametrize("text", ["context manager", "how do I write a context manager in python"])
def test_context_manager_finds_the_with_statement_first(demo: Client, vendor: str, text: str) -> None:
    """contract: Demo: the demo searches real text, so its first hits are about what was asked, in plain words too."""
    wanted = {"reference/compound_stmts.html#with", "reference/datamodel.html#context-managers"}
    found = [url.removeprefix("https://docs.python.org/3/") for url in demo.urls(vendor, text)]
    assert found[0] in wanted | {"library/contextlib.html"}
    assert wanted & {*found[:3]}


@pytest.mark.parametrize("vendor", STAND_INS)
@pytest.mark.parametrize(
    ("text", "page"),
    [
        ("asyncio", "asyncio"),
        ("asyncio task group", "asyncio"),
        ("heap queue", "heapq"),
        ("dataclass", "dataclasses"),
        ("parse a url", "urllib.parse"),
    ],
)
def test_module_of_the_standard_library_is_found_first(demo: Client, vendor: str, text: str, page: str) -> None:
    """contract: Demo: what the topics lack is found in the docstrings, on the module's page."""
    assert f"https://docs.python.org/3/library/{page}.html" in demo.urls(vendor, text)[:3]


def test_three_rankings_differ_and_overlap(demo: Client) -> None:
    """contract: Demo: three different rankings for the three shapes, of much the same pages."""
    # Several questions: on one alone two may agree, as what is searched depends on what is installed.
    texts = ("string formatting", "import a module", "generator expression")
    lists = [[demo.urls(vendor, text) for text in texts] for vendor in STAND_INS]
    for one, other in combinations(lists, 2):
        assert one != other
    for found in zip(*lists, strict=True):
        pages = [{url.partition("#")[0] for url in urls} for urls in found]
        assert len(pages[0] & pages[1] & pages[2]) >= 3


@pytest.mark.parametrize("vendor", STAND_INS)
def test_page_is_found_once_a_list(demo: Client, vendor: str) -> None:
    """contract: Demo: as engines do, a page is one hit however many of its passages match."""
    pages = [url.partition("#")[0] for url in demo.urls(vendor, "class instance attribute")]
    assert len(pages) == len(set(pages)) > 3


@given(text=HOSTILE)
@settings(max_examples=300)
def test_no_text_breaks_the_index(index: Index, text: str) -> None:
    """contract: Demo: user text never reaches FTS5 as syntax."""
    for query in (parse_query(text), parse_query(text, phrases=True, sites=True)):
        for page in index.search(query, title_weight=2.0):
            assert excerpt(page.best.text, query, 8)


@given(text=HOSTILE)
@settings(max_examples=60)
def test_no_text_breaks_a_vendor(demo: Client, text: str) -> None:
    """contract: Demo: hostile text is answered or refused as the vendor would, never with a 500."""
    assert demo.searxng(text)[0] == (200 if text else 400)
    assert demo.brave(text)[0] in (200, 422)
    assert demo.tavily(text, exact_match=True)[0] in (200, 400)


@pytest.mark.parametrize("text", ["", "   ", '""', "?!… --", "\0", "🙂"])
def test_text_without_words_finds_nothing(index: Index, text: str) -> None:
    """contract: Demo: nothing to look for is no hit, not an error and not everything."""
    assert urls(index, parse_query(text, phrases=True, sites=True)) == []


def test_pages_with_every_word_come_before_pages_with_one(index: Index) -> None:
    """contract: Demo: everything asked for first, then a part of it to fill the list."""
    assert urls(index, parse_query("four three")) == ["https://b.example/", "https://a.example/x#1"]
    assert urls(index, parse_query("four bananas")) == ["https://b.example/"]
    passages = (Passage(f"https://{n}.example/", "", "one two" if n < ENOUGH else "one") for n in range(ENOUGH + 1))
    with closing(Index(passages)) as many:
        assert len(many.search(parse_query("one two"), title_weight=1.0)) == ENOUGH


def test_page_with_every_word_keeps_the_passage_that_has_them() -> None:
    """contract: Demo: filling up the list does not change what was found before."""
    passages = [Passage("https://a.example/#1", "", "one two"), Passage("https://a.example/#2", "one one", "other")]
    others = [Passage(f"https://{n}.example/", "", "two" if n % 2 else "three") for n in range(40)]
    with closing(Index(passages + others)) as index:
        found = index.search(parse_query("one two"), title_weight=50.0)
    assert found[0].best.url == "https://a.example/#1"


def test_words_match_inflections_and_phrases_do_not(index: Index) -> None:
    """contract: Demo: quoted phrases are phrases, word for word; punctuation does not count."""
    assert urls(index, parse_query("manager context")) == ["https://a.example/x#2"]
    assert urls(index, parse_query('"three managers"', phrases=True)) == ["https://a.example/x#2"]
    assert urls(index, parse_query('"three manager"', phrases=True)) == []
    assert urls(index, parse_query('"three two"', phrases=True)) == []
    assert urls(index, parse_query('"two three" bananas', phrases=True)) == ["https://a.example/x#1"]


def test_depth_ranks_the_broad_page_first() -> None:
    """contract: Demo: the rankings differ in what they favour, not by chance."""
    passages = [
        Passage("https://sharp.example/", "", "yak yak"),
        *(Passage(f"https://broad.example/#{n}", "", f"yak with {n} other words") for n in range(3)),
        *(Passage(f"https://other.example/{n}", "", "nothing of the kind") for n in range(9)),
    ]
    query = parse_query("yak")
    with closing(Index(passages)) as index:
        assert index.search(query, title_weight=1.0)[0].best.page == "https://sharp.example/"
        assert index.search(query, title_weight=1.0, depth=3)[0].best.page == "https://broad.example/"


def test_closed_index_leaves_no_database_to_the_collector() -> None:
    """contract: Demo: newer Pythons warn of a database that was never closed."""
    index = Index(PASSAGES)
    index.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        index.search(parse_query("one"), title_weight=1.0)


def test_pasted_page_is_cut_to_its_first_words() -> None:
    """contract: Demo: a request stays cheap whatever its length."""
    assert len(parse_query(" ".join(f"w{n}" for n in range(5000))).words) == MAX_WORDS


@pytest.mark.parametrize(
    ("site", "url", "covered"),
    [
        ("python.org", "https://docs.python.org/3/", True),
        ("Docs.Python.org.", "https://docs.python.org/3/", True),
        ("*.org", "https://docs.python.org/3/", True),
        ("docs.python.org/3/lib", "https://docs.python.org/3/library/", True),
        ("docs.python.org/3/ref", "https://docs.python.org/3/library/", False),
        ("ython.org", "https://docs.python.org/3/", False),
        ("", "https://docs.python.org/3/", False),
    ],
)
def test_site_covers_its_host_subdomains_and_path(site: str, url: str, covered: bool) -> None:
    """contract: Demo: a domain is compared by labels, as the vendors do, not as text."""
    assert Site.parse(site).covers(url) is covered


def test_excerpt_quotes_the_best_place_between_blanks() -> None:
    """contract: Demo: snippets show why a page was found."""
    text = "filler words " * 50 + "the context manager protocol " + "more filler " * 50
    quoted = excerpt(text, parse_query("context manager"), 80)
    assert "context manager protocol" in quoted
    assert len(quoted) <= 80
    assert set(quoted.split()) <= set(text.split())
