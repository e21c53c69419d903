"""Rules for a single query, shared by v1, v2 and the cache key."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sift.errors import InvalidQueryError
from sift.search.query import clean_query, has_phrase, normalise_query
from tests.search.moderate import moderate

BLANKS = [" ", "\t", "\n", "\r", "\u00a0", "\u2003", "\u3000", "\u2028"]


@pytest.mark.parametrize(
    "value", [None, 5, True, ["a"], {}, b"a", "", *BLANKS, "a\x00", "\ud800", "a\udfffb", "a" * 1501]
)
def test_query_that_is_unfit_is_refused(value: object) -> None:
    """contract: Queries: only white space, NUL, half a surrogate pair, a wrong type, 1501 code points."""
    with pytest.raises(InvalidQueryError):
        clean_query(value)


@pytest.mark.parametrize("blank", BLANKS)
def test_query_with_blanks_round_it_is_cut_and_otherwise_unchanged(blank: str) -> None:
    """contract: Queries: surrounding white space is cut first; the inside is unchanged."""
    inside = f'a{blank}{blank}B "c"'
    assert clean_query(blank + inside + blank * 2) == inside
    assert clean_query(blank + "a" * 1500 + blank) == "a" * 1500


@pytest.mark.parametrize("query", ["\N{GRINNING FACE}" * 1500, "\ud7ff\ue000", "\x01", "a\x1fb"])
def test_query_at_the_edge_of_what_is_fit_is_taken(query: str) -> None:
    """contract: Queries: the limit counts code points; only NUL and surrogates are unfit."""
    assert clean_query(query) == query


@pytest.mark.parametrize(
    ("query", "has"),
    [
        ('"a"', True),
        ('x "a b" y', True),
        ('"a" and "b"', True),
        ('"" "a"', True),
        ('" "', True),
        ("a", False),
        ('""', False),
        ('"', False),
        ('"a', False),
        ('"a" "', False),
        ("'a'", False),
        ("“a”", False),
    ],
)
def test_phrase_is_a_balanced_pair_with_something_between(query: str, has: bool) -> None:
    """contract: Queries: a "…" pair with one or more code points between, and no unpaired quote."""
    assert has_phrase(query) is has


@pytest.mark.parametrize(
    ("one", "other"),
    [("a  b", "a b"), ("a\t\u3000b", "a b"), (" a b ", "a b"), ("cafe\u0301", "caf\u00e9"), ("\u212b", "\u00c5")],
)
def test_query_in_two_spellings_is_one(one: str, other: str) -> None:
    """contract: Queries: NFC, white space folded."""
    assert normalise_query(one) == normalise_query(other) == other


def test_query_case_and_compatible_forms_stay_apart() -> None:
    """contract: Queries: case is kept, and NFC is not NFKC."""
    assert len({normalise_query(query) for query in ("a", "A", "ａ", "\u00aa")}) == 4


@moderate
@given(st.text(st.sampled_from("aAé\u0301\u0344\u1e9b\u0323 \t\u3000\u2126\u212b가ᄀ\u1161")) | st.text())
@example("\u0344 \u0344")
def test_normalising_a_query_twice_is_once(query: str) -> None:
    """contract: Queries: normalisation is idempotent."""
    once = normalise_query(query)
    assert normalise_query(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert once.split() == once.split(" ") or not once
