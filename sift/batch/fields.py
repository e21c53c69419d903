"""The fields of `POST /v1/batch`, described once, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sift.fetch.fields import FIELDS as OF_FETCH
from sift.fields import Field

MOST_URLS: Mapping[str, int] = {"restricted": 25, "fleet": 100}
"""URLs of a batch at most, by the class of the caller."""
MAX_CHARS = 20_000
TTL = 86_400
_fetch = {field.name: field for field in OF_FETCH}

# In the order in which a wrong field is named when several are.
FIELDS = (
    Field(
        "urls",
        "array",
        "The pages to open",
        rule=f"{MOST_URLS['restricted']} at most for class restricted; each http or https, and public",
        group="query",
        min_items=1,
        max_items=MOST_URLS["fleet"],
    ),
    _fetch["format"],
    replace(_fetch["max_chars"], text="How many characters of each page to return, cut at a block", default=MAX_CHARS),
    _fetch["max_age"],
    Field(
        "ttl",
        "integer",
        "How many seconds the results are kept",
        group="answer",
        default=TTL,
        minimum=3600,
        maximum=604_800,
    ),
)
