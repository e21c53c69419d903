"""Long texts in pieces (contract: Fetch)."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from sift.fetch.cut import cut

BLOCKS = "One block.\n\nAnother one, longer.\n\nThe last."


def test_text_fits_it_is_whole_and_there_is_no_next() -> None:
    """contract: Fetch: `next_start` is there only when more is left."""
    assert cut(BLOCKS, 0, len(BLOCKS)) == (BLOCKS, None)
    assert cut(BLOCKS, 12, 1000) == (BLOCKS[12:], None)


def test_start_is_behind_the_end_nothing_is_left() -> None:
    assert cut(BLOCKS, 1000, 1000) == ("", None)


def test_piece_ends_behind_a_block_and_the_next_begins_with_one() -> None:
    """contract: Fetch: cut at a block's end."""
    piece, following = cut(BLOCKS, 0, 40)
    assert piece == "One block.\n\nAnother one, longer."
    assert following is not None
    assert BLOCKS[following:] == "The last."


def test_piece_that_is_exactly_some_blocks_is_not_cut_shorter() -> None:
    assert cut(BLOCKS, 0, len("One block.\n\nAnother one, longer."))[0] == "One block.\n\nAnother one, longer."


def test_no_block_ends_in_time_the_cut_is_behind_a_line_then_a_word_then_anywhere() -> None:
    assert cut("one line\nanother line of words", 0, 20)[0] == "one line"
    assert cut("words that go on and on", 0, 12)[0] == "words that"
    assert cut("x" * 50, 0, 20) == ("x" * 20, 20)


def test_blank_line_in_a_code_fence_ends_no_block() -> None:
    """contract: Fetch: code that is cut in half would no longer be fenced."""
    text = "Before.\n\n```python\none = 1\n\ntwo = 2\n```\n\nAfter."
    assert cut(text, 0, 30)[0] == "Before."
    assert cut(text, 0, len(text) - 3)[0] == text[: text.index("\n\nAfter")]


@given(st.text(alphabet="ab \n`", max_size=300), st.integers(1, 60))
@example("```\n\n```\n\na", 5)
def test_pieces_read_one_after_another_are_the_text_but_for_blanks(text: str, most: int) -> None:
    """contract: Fetch: a long page can be read on, and nothing of it is lost or shown twice."""
    pieces, start = [], 0
    for _ in range(len(text) + 1):
        piece, following = cut(text, start, most)
        assert len(piece) <= most
        pieces.append(piece)
        if following is None:
            break
        assert following > start
        start = following
    assert "".join("".join(pieces).split()) == "".join(text.split())
