"""Turning a vendor's title or snippet into plain text (contract: Texts)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sift.search.text import plain
from tests.search.moderate import moderate

TEXTS = [
    ("", ""),
    ("plain", "plain"),
    ("  a \t\n b\u00a0\u3000c ", "a b c"),
    ("a <b>bold</b> word", "a bold word"),
    ("un<b>broken</b>", "unbroken"),
    ("<strong>A</strong>", "A"),
    ("<STRONG class='x'>A</Strong >", "A"),
    ("one<br>two<br/>three<br />four", "one two three four"),
    ("<p>one</p><p>two</p>", "one two"),
    ("<div><h1>T</h1>text</div>", "T text"),
    ('<a href="https://docs.example/">link</a>', "link"),
    ("a<!-- note -->b", "a b"),
    ("<!DOCTYPE html>a", "a"),
    ("<?xml version='1.0'?>a", "a"),
    ("#include <stdio.h>", "#include <stdio.h>"),
    ("List<String> x", "List<String> x"),
    ("a < b and c > d", "a < b and c > d"),
    ("1<2>3", "1<2>3"),
    ("x <bold> y", "x <bold> y"),
    ("<b", "<b"),
    ("</b>", ""),
    ("<b<i>x", "<bx"),
    ("Tom &amp; Jerry", "Tom & Jerry"),
    ("&quot;a&quot; &#39;b&#x27;", "\"a\" 'b'"),
    ("caf&eacute;", "café"),
    ("a&nbsp;b", "a b"),
    ("&lt;b&gt;x", "<b>x"),
    ("&amp;lt;", "&lt;"),
    ("AT&T", "AT&T"),
    ("&unknown;", "&unknown;"),
    ("a\x00b\x07c\x1bd\x7fe\x80f\x9fg", "abcdefg"),
    ("a\x0bb\x0cc\x1cd\x85e", "a b c d e"),
    ("a\u202eb\u202cc\u2066d\u2069e\u202af", "abcdef"),
    ("a \u202e b", "a b"),
    ("a&#x202e;b&#1;c", "abc"),
    ("a\ud800b\udfff", "ab"),
    ("\N{GRINNING FACE}", "\N{GRINNING FACE}"),
    ("שלום \u200f", "שלום \u200f"),
    ("日本", "日本"),
]


@pytest.mark.parametrize(("text", "shown"), TEXTS, ids=[ascii(text)[:30] for text, _ in TEXTS])
def test_text_is_made_plain(text: str, shown: str) -> None:
    """contract: Texts: tags and entities out, white space folded, control and bidi-override characters out."""
    assert plain(text) == shown


def test_text_with_an_entity_of_thousands_of_digits_stays_and_raises_nothing() -> None:
    """contract: Texts: an integer that Python will not read costs the text nothing."""
    text = f"a &#{'9' * 5000}; b"
    assert plain(text) == text


UNFIT = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


@moderate
@given(
    st.lists(
        st.sampled_from(
            [
                "a",
                " ",
                "\u3000",
                "<",
                ">",
                "</b>",
                "<b>",
                "<br>",
                "<p ",
                "&",
                "&amp;",
                "&#x202e;",
                "&#10;",
                ";",
                "\x00",
                "\x1b",
                "\x85",
                "\u202e",
                "\ud800",
                "é",
                "&lt;",
                "<!--",
            ]
        )
    ).map("".join)
    | st.text(st.characters())
)
@example("\u202e \u202e ")
@example(" &#32; ")
@example("a &nbsp; b")
def test_plain_text_holds_nothing_unfit(text: str) -> None:
    """contract: Texts: no control character, no bidi override, no surrogate, no blank but single spaces inside."""
    shown = plain(text)
    assert all(unicodedata.category(char) not in ("Cc", "Cs") for char in shown)
    assert not set(shown) & set(UNFIT)
    assert shown == " ".join(shown.split())
    assert len(shown) <= len(text)
    shown.encode()


@moderate
@given(st.text(st.characters(exclude_characters="<&", exclude_categories=["Cs"])))
def test_plain_text_made_plain_again_is_itself(text: str) -> None:
    """contract: Texts: without markup, making plain is idempotent, and loses nothing but blanks and unfit
    characters.
    """
    shown = plain(text)
    assert plain(shown) == shown
    kept = [char for char in text if not char.isspace() and unicodedata.category(char) != "Cc" and char not in UNFIT]
    assert [char for char in shown if char != " "] == kept
