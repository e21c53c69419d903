"""Checks that wait for others (contract: Doctor)."""

from __future__ import annotations

import threading

from sift.doctor.together import guarded, together
from sift.findings import Finding, ok


def _break() -> list[Finding]:
    raise ValueError("zebra")


def test_findings_come_in_the_order_of_the_checks() -> None:
    """contract: Doctor: whoever answers first."""
    first_may_end = threading.Event()

    def slow() -> list[Finding]:
        first_may_end.wait(10)
        return [ok("a", "1")]

    def fast() -> list[Finding]:
        first_may_end.set()
        return [ok("b", "2"), ok("b", "3")]

    assert [each.what for each in together({"a": slow, "b": fast}, 20)] == ["1", "2", "3"]


def test_check_that_hangs_is_given_up() -> None:
    """contract: Doctor: all waiting is bounded; the others are told."""
    ends = threading.Event()

    def hang() -> list[Finding]:
        ends.wait(60)
        return []

    found = together({"a": hang, "b": lambda: [ok("b", "2")]}, 0.05)
    ends.set()
    assert [(each.level, each.check) for each in found] == [("fail", "a"), ("ok", "b")]
    assert found[0].what == "no answer within 0.05 s"


def test_check_that_finds_nothing_says_nothing() -> None:
    """contract: Doctor: it has ended, and is not late."""
    assert together({"a": list}, 20) == []


def test_check_that_breaks_is_told_by_its_type_alone() -> None:
    """contract: Doctor: an exception's text may hold anything."""
    (found,) = guarded("a", _break)
    assert (found.level, found.what) == ("fail", "this check broke: ValueError")
    assert together({"a": _break}, 20) == [found]
