"""Text that is no markup, as it is: plain text, Markdown, CSV, JSON. Its white space may mean something and stays."""

from __future__ import annotations

from sift.fetch.extract import hygiene
from sift.fetch.extract.model import Extract


def extract(text: str) -> Extract:
    """Return a text as an extract."""
    return Extract(hygiene.verbatim(text), "plain")
