"""Frames on the pipes to the children (contract: Page text)."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sift.fetch.extract.frames import (
    BEGUN,
    LENGTHS,
    MOST_BODY,
    MOST_HEADER,
    BadFrameError,
    Frame,
    lengths,
    pack,
    unpack,
)
from tests.search.moderate import moderate


@pytest.mark.parametrize(
    "frame", [Frame({}), Frame({"a": ["\u20ac", 1, None]}, b"first", b"second"), Frame({}, b"", b"x")]
)
def test_frame_that_is_packed_is_unpacked(frame: Frame) -> None:
    """contract: Page text. Nothing is lost on the way."""
    assert unpack(b"".join(pack(frame))) == frame


def test_sign_of_a_begun_job_is_no_frame() -> None:
    """contract: Page text. It cannot be taken for an answer."""
    assert len(BEGUN) == LENGTHS
    with pytest.raises(BadFrameError):
        lengths(BEGUN)


@pytest.mark.parametrize(
    "announced", [(0, 1, 1), (MOST_HEADER + 1, 0, 0), (2, MOST_BODY + 1, 0), (2, 0, MOST_BODY + 1)]
)
def test_length_out_of_bounds_is_refused(announced: tuple[int, int, int]) -> None:
    """contract: Page text. A child cannot make the service hold as much as it likes."""
    with pytest.raises(BadFrameError):
        lengths(struct.pack(">III", *announced))


@pytest.mark.parametrize("header", [b"[]", b"1", b"{", b"\xff", b"[" * MOST_HEADER])
def test_header_that_is_no_object_is_refused(header: bytes) -> None:
    """contract: Page text. However it is broken."""
    with pytest.raises(BadFrameError):
        unpack(struct.pack(">III", len(header), 0, 0) + header)


def test_frame_of_another_length_than_announced_is_refused() -> None:
    """contract: Page text. Neither less nor more."""
    data = b"".join(pack(Frame({}, b"abc")))
    for wrong in (data[:-1], data + b"x"):
        with pytest.raises(BadFrameError):
            unpack(wrong)


@moderate
@given(st.binary(min_size=LENGTHS))
def test_no_bytes_make_it_raise_anything_else(data: bytes) -> None:
    """contract: Page text. Rubbish is known as such."""
    with suppress(BadFrameError):
        unpack(data)
