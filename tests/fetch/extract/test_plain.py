"""Text that is no markup (contract: Page text)."""

from __future__ import annotations

from sift.fetch.extract.plain import extract


def test_plain_text_stays_as_it_is_but_for_what_is_unfit() -> None:
    """contract: Page text. Programs, tables and JSON live on their white space."""
    found = extract('{\r\n  "a\u200b":   1\r\n}\r\n')
    assert (found.content, found.extractor, found.title) == ('{\n  "a":   1\n}', "plain", "")
