"""The places for fetches (contract: Fetch)."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from sift.errors import FetchError
from sift.fetch.places import Places


def test_caller_takes_a_quarter_and_is_refused_the_next() -> None:
    """contract: Fetch: 16 places a process, four a caller; `busy` at once, for waiting would hold a thread."""
    places = Places(16)
    with ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(places.place("one"))
        with pytest.raises(FetchError) as caught, places.place("one"):
            pass
        assert caught.value.state == "busy"
        stack.enter_context(places.place("another"))


def test_all_places_are_taken_everybody_is_refused() -> None:
    places = Places(2)
    with places.place("one"), places.place("two"), pytest.raises(FetchError), places.place("three"):
        pass


def test_fetch_has_ended_its_place_is_free_also_after_a_failure() -> None:
    places = Places(1)
    for _ in range(3):
        with pytest.raises(ValueError, match="x"), places.place("one"):
            raise ValueError("x")


def test_few_places_leave_each_caller_one() -> None:
    assert Places(1).each == 1
    assert Places(3).each == 1
    assert Places(32).each == 8
