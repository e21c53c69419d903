"""Cutting a query to a vendor's limits (contract: Texts)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.sources.limits import fit, too_long

CUT_400 = "v: query cut to 400 characters"
CUT_50 = "v: query cut to 50 words"


def cut(query: str, words: int | None = 50) -> tuple[str, tuple[str, ...]]:
    return fit("v", query, characters=400, words=words)


WORDS_40 = " ".join(["123456789"] * 40)  # 399 characters


@pytest.mark.parametrize(
    ("query", "fitted", "notes"),
    [
        ("short", "short", ()),
        ("x" * 400, "x" * 400, ()),
        ("x" * 401, "x" * 400, (CUT_400,)),
        (WORDS_40 + "0 tail", WORDS_40 + "0", (CUT_400,)),
        (WORDS_40 + "0\u3000tail", WORDS_40 + "0", (CUT_400,)),
        (WORDS_40 + "00 tail", WORDS_40[:-10], (CUT_400,)),
        ("a" + " " * 450 + "b", "a", (CUT_400,)),
        ("a  b " * 25 + "c", "a  b " * 25 + "c", (CUT_50,)),
        ("w " * 50 + "x", "w " * 49 + "w", (CUT_50,)),
        ("w\t\n" * 50 + "x", "w\t\n" * 49 + "w", (CUT_50,)),
        ("123456789 " * 60, WORDS_40, (CUT_50, CUT_400)),
        ("w " * 40 + "x" * 400 + " tail" * 20, "w " * 39 + "w", (CUT_50, CUT_400)),
    ],
)
def test_fit_query_is_long_words_go_first_then_characters(query: str, fitted: str, notes: tuple[str, ...]) -> None:
    """contract: Texts: at the last blank that fits (character 401 included), hard if there is none; a note per cut."""
    if query == "a  b " * 25 + "c":  # 51 words
        fitted = ("a  b " * 25).rstrip()
    assert cut(query) == (fitted, notes)


def test_fit_vendor_counts_no_words_only_characters_are_cut() -> None:
    """contract: Texts: Tavily has no limit on words."""
    assert cut("w " * 100 + "w", words=None) == ("w " * 100 + "w", ())


@pytest.mark.parametrize(
    ("query", "end"),
    [
        ('w "a b" ' + "x " * 45 + '"open phrase here"', "x open phrase"),
        ('w "a b" ' + "x " * 44 + '"whole phrase" and more', 'x "whole phrase" and'),
        ("w " * 49 + '" phrase "', "w"),
        ("w " * 49 + '"phrase one"', "w phrase"),
        ('"' + "w " * 60 + '"', "w w"),
        ('5" pipe ' + "w " * 60, "w w"),
        ('5" pipe ' + "w " * 60 + '"a b"', "w w"),
    ],
)
def test_fit_cut_leaves_a_quote_open_the_quote_goes(query: str, end: str) -> None:
    """contract: Texts: a quote that the cut leaves open is removed; whole phrases keep theirs."""
    fitted, notes = cut(query)
    assert notes == (CUT_50,)
    assert fitted.endswith(end)
    assert fitted.count('"') % 2 == 0 or query.count('"') == 1


def test_fit_quote_was_open_before_it_stays() -> None:
    """contract: Texts: only a quote that the cut left open is removed; the agent's text is not tidied."""
    assert cut('5" pipe ' + "w " * 60)[0].startswith('5" pipe')
    assert cut('say "hi')[0] == 'say "hi'


def test_fit_nothing_but_a_quote_is_left_query_is_not_empty() -> None:
    """contract: Texts: a cut never leaves an empty query, which both vendors refuse."""
    assert cut('"' + " " * 450 + 'x"') == ('"', (CUT_400,))


def test_too_long_says_so() -> None:
    """contract: Texts: the note of a source that is not asked."""
    assert too_long("tavily") == "tavily: query too long, not asked"


QUERIES = st.lists(st.sampled_from(["w", '"', '"a', 'b"', "x" * 90, " ", "\u3000", "\n", "é", "y" * 401]), max_size=120)


@given(QUERIES.map(" ".join).map(str.strip).filter(bool))
def test_fit_any_query_cut_fits_and_is_a_beginning(query: str) -> None:
    """contract: Texts: what is sent fits, begins the query in whole words but for a quote, and is noted."""
    fitted, notes = cut(query)
    assert fitted.strip() == fitted != ""
    assert len(fitted) <= 400
    assert len(fitted.split()) <= 50
    assert cut(fitted) == (fitted, ())
    assert (fitted == query) == (not notes)
    assert notes in ((), (CUT_400,), (CUT_50,), (CUT_50, CUT_400))
    letters = "".join(fitted.replace('"', "").split())
    assert "".join(query.replace('"', "").split()).startswith(letters)
    assert query.count('"') - fitted.count('"') >= 0
    if notes and query.count('"') % 2 == 0 and fitted != '"':
        assert fitted.count('"') % 2 == 0


@given(st.lists(st.sampled_from(["w", "x" * 90, "  ", "\u3000", "\n", "é", "y" * 401]), max_size=80))
def test_fit_query_without_quotes_is_cut_between_words(parts: list[str]) -> None:
    """contract: Texts: only a word that does not fit by itself is cut in two."""
    query = " ".join(parts).strip()
    fitted, _ = cut(query)
    assert query.startswith(fitted)
    rest = query[len(fitted) :]
    assert not rest or rest[0].isspace() or not re.search(r"\s", query[:401])
