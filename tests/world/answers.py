"""What answers to a fetch must look like."""

from __future__ import annotations

from tests.service import Reply


def refused(reply: Reply) -> str:
    """Check that a URL was refused by its text, and return the hint."""
    answer = reply.json()
    assert (reply.status, answer["error"]) == (403, "url not allowed")
    assert list(answer) == ["error", "hint"]
    return str(answer["hint"])


def failed(reply: Reply) -> str:
    """Check that a page could not be had, and return the hint."""
    answer = reply.json()
    assert (reply.status, answer["error"]) == (502, "fetch failed"), reply
    assert list(answer) == ["error", "hint"]
    return str(answer["hint"])
