"""A vendor's title, snippet or date as plain text (contract: Texts)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sift.search.text import cut, plain, tidy
from tests.search.moderate import moderate

PLAIN = [
    ("", ""),
    ("plain", "plain"),
    ("  a \t\n b\u00a0\u3000c ", "a b c"),
    ("a\x0bb\x0cc\x1cd\x85e", "a b c d e"),
    ("日本 \N{GRINNING FACE}", "日本 \N{GRINNING FACE}"),
]

MARKUP = [
    ("a <b>bold</b> word", "a bold word"),
    ("un<b>broken</b>", "unbroken"),
    ("<STRONG class='x'>A</Strong >", "A"),
    ("one<br>two<br/>three<br />four", "one two three four"),
    ("<p>one</p><p>two", "one two"),
    ("one</p>two<wbr>three<hr>four<img>five", "one twothree four five"),
    ("<div><h1>T</h1>text</div>", "T text"),
    ("<ul><li>one<li>two</li></ul>", "one two"),
    ('<a href="https://docs.example/">link</a>', "link"),
    ('<a href="/x" title="A > B">link</a> rest', "link rest"),
    ("<a title='A > \"B\"' href = /x/ hidden>link</a>", "link"),
    ('<input\ttype="text"\n disabled/>after', "after"),
    ('<button @click="go" :on="x" data-a.b="1">Go</button>', "Go"),
    ('cut off <a href="/x">in the middle', "cut off in the middle"),
    ("a<!-- note -->b", "a b"),
    ("a <!-- x > y --> b", "a b"),
    ("a<!-- <b> -->b<!----> c", "a b c"),
    ("<![CDATA[Breaking: storm & flood]]>", "Breaking: storm & flood"),
    ("a <![CDATA[<p>x</p>]]> b <![CDATA[cut", "a x b cut"),
    ("a<script>if (x<y && '</b>') z()</script>b", "a b"),
    ('<style media="all">p { color: red }</STYLE >text<SCRIPT type="module">x</script>', "text"),
    ("<?xml version='1.0'?>\n<!DOCTYPE html><html lang='en'>a", "a"),
]

TEXT = [
    "#include <stdio.h>",
    "List<String> x",
    "a < b and c > d",
    "1<2>3",
    "x <bold> y",
    "assert a <b and c> d",
    "<b",
    "<>",
    "</b>",
    "a </div> b <div> c",
    "fn map<U>(self) -> Option<U>",
    "function f<S extends string, U extends S>(x: S)",
    "template <typename A, class B = int>",
    "cp <source> <target>",
    "<details>: The Details disclosure element",
    "How do I center a <div>?",
    "Use <?php echo $n; ?> to",
    "<!DOCTYPE html> and what it means",
    "why <!DOCTYPE html>?",
    "if (a<b && c>d) y",
    "for (i=0; i<b; c=d>e)",
    "a <!-- never closed",
    "a[b[0]]>c",
    "a <script> in the head",
    '<a title="a<b">',
    "<a href=>",
    "<mark up=1",
    "x-<b-c>",
]

ENTITIES = [
    ("Tom &amp; Jerry", "Tom & Jerry"),
    ("&quot;a&quot; &#39;b&#x27; &#X4A;", "\"a\" 'b' J"),
    ("caf&eacute; &Eacute;", "café É"),
    ("a&nbsp;b", "a b"),
    ("&lt;b&gt;x", "<b>x"),
    ("&amp;lt;", "&lt;"),
    ("&#0000000000039; &#128; &#0; &#x110000; &#xd800;", "' € \ufffd \ufffd \ufffd"),
    ("AT&T", "AT&T"),
    ("&unknown; &; &#; &#x; &#xg; &notit; &amp", "&unknown; &; &#; &#x; &#xg; &notit; &amp"),
    ("/x?id=1&timestamp=2&copy=3", "/x?id=1&timestamp=2&copy=3"),
    ("&lt", "&lt"),
    ("&#60", "&#60"),
]

UNFIT = [
    ("a\x00b\x07c\x1bd\x7fe\x80f\x9fg", "abcdefg"),
    ("a\u202eb\u202cc\u2066d\u2069e\u202af", "abcdef"),
    ("a \u202e b", "a b"),
    ("a&#x202e;b&#1;c&shy;d", "abcd"),
    ("a\ud800b\udfff", "ab"),
    ("שלום\u200f \u200ea\u061cb", "שלום ab"),
    ("a\u200bb\u2060c\ufeffd\u180ee\xadf", "abcdef"),
    ("a\U000e0001b\U000e0041\U000e007fc\U000e0fffd", "abcd"),
    ("a\u2061b\u206fc\ufff9d\ufffbe", "abcde"),
    ("\u3164", ""),
    ("a\uffa0b", "ab"),
    ("\u200b", ""),
    ("葛\U000e0100", "葛\U000e0100"),
]

JOINERS = [
    ("می\u200cخواهم", "می\u200cخواهم"),
    ("क्\u200dष क्\u200d", "क्\u200dष क्\u200d"),
    (
        "👩\u200d🔬 ❤\ufe0f\u200d🔥 🙂\u200d↔\ufe0f 👩🏽\u200d⚕\ufe0f",
        "👩\u200d🔬 ❤\ufe0f\u200d🔥 🙂\u200d↔\ufe0f 👩🏽\u200d⚕\ufe0f",
    ),
    ("می\u200c\u200c\u200dخ", "می\u200cخ"),
    ("a\u200db\u200cc", "abc"),
    ("👩\u200dx \u200d👩 👩\u200c👩 👩\u200d", "👩x 👩 👩👩 👩"),
    ("a\u200d", "a"),
]


@pytest.mark.parametrize(
    ("text", "shown"),
    PLAIN + MARKUP + [(text, text) for text in TEXT] + ENTITIES + UNFIT + JOINERS,
    ids=lambda text: ascii(text)[:40],
)
def test_text_is_made_plain(text: str, shown: str) -> None:
    """contract: Texts: markup out, code stays, whole entities decoded once, unfit characters out, blanks folded."""
    assert plain(text) == shown


def test_date_loses_unfit_characters_and_keeps_what_looks_like_markup() -> None:
    """contract: Texts: dates are tidied and not read as markup."""
    assert tidy("\x1b2026\u202e-\u200b09-01\n<b>&amp;</b>") == "2026-09-01 <b>&amp;</b>"


def test_entity_of_thousands_of_digits_stays_and_raises_nothing() -> None:
    """contract: Texts: an integer that Python does not parse costs the text nothing."""
    text = f"a &#{'9' * 5000}; b"
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "limit", "shown"),
    [
        ("one two", 7, "one two"),
        ("one two three", 8, "one two…"),
        ("one two three", 9, "one two…"),
        ("one two three", 7, "one…"),
        ("one two three", 3, "on…"),
        ("one\n\ntwo three", 7, "one…"),
        ("日本語日本語", 4, "日本語…"),
        ("one", 1, "…"),
        ("", 1, ""),
    ],
)
def test_text_that_is_cut_ends_behind_a_word(text: str, limit: int, shown: str) -> None:
    """contract: Texts: no more characters than the limit, `…` included; hard where no blank is."""
    assert cut(text, limit) == shown


@moderate
@given(st.text(st.sampled_from("ab \n")).map(plain), st.integers(1, 12))
def test_text_that_is_cut_is_a_beginning(text: str, limit: int) -> None:
    """contract: Texts: nothing but the end is lost, and only if it does not fit."""
    shown = cut(text, limit)
    assert len(shown) <= limit
    assert (shown == text) == (len(text) <= limit)
    assert text.startswith(shown.removesuffix("…"))


SCRAPS = ["a", " ", "\u3000", "<", ">", "</b>", "<b>", "<br>", "<p ", "<a b='", '" c="', "<script>", "</script>"]
SCRAPS += ["<!--", "-->", "<![CDATA[", "]]>", "&", "&amp;", "&#x202e;", "&#10;", "&zwj;", ";", "\x00", "\x1b", "\x85"]
SCRAPS += ["\u202e", "\u200b", "\u200d", "\u200c", "👩", "می", "\ud800", "é", "&lt;"]
GONE = set("\u00ad\u061c\u180e\u200b\u200e\u200f\u3164\ufeff\uffa0")
GONE |= {chr(code) for span in ((0x202A, 0x202F), (0x2060, 0x2070), (0xFFF0, 0xFFFC)) for code in range(*span)}
GONE |= {chr(code) for code in range(0xE0000, 0xE1000) if not 0xE0100 <= code < 0xE01F0}


def is_unfit(char: str) -> bool:
    """Whether no text may hold a character."""
    return char in GONE or unicodedata.category(char) in ("Cc", "Cs")


@moderate
@given(st.lists(st.sampled_from(SCRAPS)).map("".join) | st.text(st.characters()))
@example("\u202e \u202e ")
@example(" &#32; ")
@example("a &nbsp; b")
def test_plain_text_holds_nothing_unfit(text: str) -> None:
    """contract: Texts: no unfit character, no blank but single ones inside, and never longer than it was."""
    shown = plain(text)
    assert not any(map(is_unfit, shown))
    assert shown == " ".join(shown.split())
    assert len(shown) <= len(text)
    shown.encode()


@moderate
@given(st.text(st.characters(exclude_characters="<&\u200c\u200d", exclude_categories=["Cs"])))
@example("\u3164a")
def test_plain_text_made_plain_again_is_itself(text: str) -> None:
    """contract: Texts: without markup, only unfit characters and surplus blanks are lost."""
    shown = plain(text)
    assert plain(shown) == shown
    assert [char for char in shown if char != " "] == [
        char for char in text if not char.isspace() and not is_unfit(char)
    ]


@pytest.mark.parametrize("scrap", [*SCRAPS, "<a b='\" c=\"' ", "<i x=1>", "<b></b>", "<!---->", "&#0", " <!doctype"])
def test_text_of_one_scrap_repeated_comes_to_an_end(scrap: str) -> None:
    """contract: Texts: cleaning is linear; were it quadratic, this would run for minutes."""
    text = scrap * 50_000
    assert len(plain(text)) <= len(text)
