"""What leaves an extractor is fit to be read (contract: Page text)."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sift.fetch.extract.hygiene import clean, line, markdown, verbatim
from tests.search.moderate import moderate

ZERO_WIDTH = "\xad\u034f\u115f\u1160\u17b4\u180b\u200b\u200c\u200d\u2060\u2064\u3164\ufeff\uffa0\ufe00\ufe0f"
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
TAGS = "\U000e0000\U000e0001\U000e0041\U000e007f\U000e0100\U000e01ef\U000e0fff"
CONTROLS = "\x00\x07\x1b\x7f\x80\x9f\ud800\udfff\ufffe\U0010ffff\ufff9\ufffc"
TEXTS = st.text(
    alphabet=st.one_of(st.characters(), st.sampled_from("ab \t\n\r`~-#\xa0" + ZERO_WIDTH + BIDI + "\u0301\u0316"))
)


@pytest.mark.parametrize("unfit", ZERO_WIDTH + BIDI + TAGS + CONTROLS)
def test_character_that_cannot_be_seen_leaves_no_trace(unfit: str) -> None:
    """contract: Page text. What a reader cannot see, a model does not read either."""
    assert clean(f"pay{unfit}ment") == "payment"


def test_no_format_character_is_left_but_those_that_are_seen() -> None:
    """contract: Page text. Of all controls and formats only visible ones and line ends stay."""
    characters = map(chr, range(sys.maxunicode + 1))
    left = [
        each for each in characters if unicodedata.category(each) in ("Cc", "Cf", "Cs") and clean(f"a{each}b") != "ab"
    ]
    shown = {f"{ord(each):x}" for each in left if unicodedata.category(each) == "Cf"}
    assert {each for each in left if unicodedata.category(each) == "Cc"} == set("\t\n\r\x0b\x0c\x1c\x1d\x1e\x85")
    # Marks of numbers and verses of Arabic, Syriac and Kaithi, and joiners of hieroglyphs and shorthand.
    assert shown <= {
        *"600 601 602 603 604 605 6dd 70f 890 891 8e2 110bd 110cd".split(),
        *(f"{n:x}" for n in range(0x13430, 0x13440)),
    }


def test_text_is_normalised_after_what_is_unfit_is_gone() -> None:
    """contract: Page text. NFC, also where an invisible character stood between a letter and its mark."""
    assert clean("e\u200b\u0301") == "\xe9"


@pytest.mark.parametrize("end", ["\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_each_kind_of_line_end_becomes_a_newline(end: str) -> None:
    """contract: Page text. No character but a newline starts a line."""
    assert clean(f"a{end}b") == "a\nb"


def test_long_run_of_combining_marks_is_cut() -> None:
    """contract: Page text. NFC sorts such runs in quadratic time; 30 marks are more than any script needs."""
    assert len(clean("x" + "\u0301\u0316" * 100_000)) == 31


def test_blanks_and_empty_lines_of_markdown_are_folded() -> None:
    """contract: Page text. Runs of blanks cost an agent's context and say nothing."""
    assert markdown("  a \t\xa0 b  \n\n\n\n c\u3000d") == "a b\n\nc d"


def test_code_block_keeps_its_white_space() -> None:
    """contract: Page text. In code, white space has a meaning."""
    code = "```\n\n\n\n\tif  x:\n    y  \n~~~\n```"
    assert markdown(f"a  b\n\n{code}\n\n\n\nc  d") == f"a b\n\n{code}\n\nc d"


def test_fence_within_a_longer_fence_ends_nothing() -> None:
    """contract: Page text. Code may hold fences of its own."""
    code = "````\n```\na   b\n```\nc   d\n````"
    assert markdown(code) == code


def test_indent_of_list_items_and_what_belongs_to_them_stays() -> None:
    """contract: Page text. In a list, blanks before a line say how deep it is; elsewhere they say nothing."""
    assert (
        markdown("   a\n- b\n  - c\n    more\n\n    text\nend\n    d") == "a\n- b\n  - c\n    more\n\n    text\nend\nd"
    )


def test_plain_text_keeps_blanks_but_not_at_the_ends_of_lines() -> None:
    """contract: Page text. Tables and programs come as plain text, too."""
    assert verbatim("\n\n  a   b \t\r\n\n\n\n\tc\n") == "  a   b\n\n\tc"


def test_line_is_one_line_and_cut_behind_its_limit() -> None:
    """contract: Page text. A title is one line, and never long."""
    assert line(" a\n b\u200b\tc ", 10) == "a b c"
    assert line("x" * 100, 10) == "x" * 9 + "\N{HORIZONTAL ELLIPSIS}"


@moderate
@given(TEXTS)
@example("```\n a")
@example("\xa0```\n  x")
@example("- a\n  \n   b")
@example("a\n\n\n```\n\n\n\n```\n\n\nb")
def test_hygiene_of_any_text_is_idempotent(text: str) -> None:
    """contract: Page text. What is clean stays as it is."""
    for tidy in (clean, verbatim, markdown):
        once = tidy(text)
        assert tidy(once) == once


@moderate
@given(TEXTS)
def test_nothing_unfit_ever_leaves(text: str) -> None:
    """contract: Page text. No control, bidi, zero-width or tag character; nothing that cannot be sent as UTF-8."""
    for tidy in (clean, verbatim, markdown):
        result = tidy(text)
        assert not set(result) & set(ZERO_WIDTH + BIDI + TAGS + CONTROLS)
        assert not any(unicodedata.category(each) == "Cc" and each not in "\n\t" for each in result)
        assert unicodedata.is_normalized("NFC", result)
        result.encode()
