"""The fields of `POST /v1/search`, described once, as data.

Validation and the command's flags derive from this, and the documents are tested against it. The command loads it for
every `--help`, so it imports nothing that is slow to load.
"""

from __future__ import annotations

import re
from datetime import date

from sift.fields import Field

MAX_QUERIES = 4
MAX_QUERY = 1500
"""Code points of one query without surrounding white space."""
MAX_DOMAINS = 20
MAX_HOST = 254  # characters, a final dot included
MAX_K = 50
MAX_SNIPPET = 10_000

DATE_FORM = "YYYY-MM-DD"
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


# In the order in which a wrong field is named when several are.
FIELDS = (
    Field(
        "query",
        "string",
        "What to search for",
        group="query",
        min_length=1,
        max_length=MAX_QUERY,
    ),
    Field(
        "queries",
        "array",
        "Several queries, whose hits become one list",
        rule="in place of `query`",
        group="query",
        min_length=1,
        max_length=MAX_QUERY,
        min_items=1,
        max_items=MAX_QUERIES,
    ),
    Field(
        "include_domains",
        "array",
        "Keep only the hits on these hosts and their subdomains",
        default=(),
        max_length=MAX_HOST,
        max_items=MAX_DOMAINS,
        format="hostname",
    ),
    Field(
        "exclude_domains",
        "array",
        "Drop the hits on these hosts and their subdomains",
        default=(),
        max_length=MAX_HOST,
        max_items=MAX_DOMAINS,
        format="hostname",
    ),
    Field(
        "include_domains_mode",
        "string",
        "How strict `include_domains` is",
        rule="only with `include_domains`",
        default="restrict",
        choices=("restrict", "prefer"),
    ),
    Field(
        "time_range",
        "string",
        "How old a page may be",
        rule="not with `start_date` or `end_date`",
        choices=("day", "week", "month", "year"),
        aliases=(("d", "day"), ("w", "week"), ("m", "month"), ("y", "year")),
    ),
    Field("start_date", "string", "The first day a page may be of", rule="not with `time_range`", format="date"),
    Field(
        "end_date",
        "string",
        "The last day a page may be of",
        rule="not before `start_date`, and not with `time_range`",
        format="date",
    ),
    Field(
        "topic", "string", "What kind of page to look for", default="general", choices=("general", "news", "finance")
    ),
    Field(
        "min_score",
        "number",
        "Drop the hits that their own source rates lower, where it rates on this scale; all others stay",
        default=0,
        minimum=0,
        maximum=1,
    ),
    Field(
        "exact_match",
        "boolean",
        "Demand the quoted phrase of the query",
        rule='every query needs a "quoted phrase", and no odd quote',
        default=False,
    ),
    Field(
        "k",
        "integer",
        "How many hits to return",
        group="answer",
        default=8,
        minimum=1,
        maximum=MAX_K,
        other_names=("max_results",),  # Perplexity's
    ),
    Field(
        "max_snippet",
        "integer",
        "How many characters of each snippet to return, cut behind a word",
        rule="0 for all",
        group="answer",
        default=0,
        minimum=0,
        maximum=MAX_SNIPPET,
    ),
    Field(
        "rerank",
        "boolean",
        "Rank the hits of all sources in one list",
        group="answer",
        default=True,
    ),
    Field("digest", "boolean", "Add a warning, and change nothing else", group="answer", default=False),
    Field(
        "explain",
        "boolean",
        "Say why each hit is there, where all others went, and what it cost",
        group="answer",
        default=False,
    ),
)


def is_day(text: str) -> bool:
    """Whether a text is a real day as YYYY-MM-DD in ASCII digits."""
    if not _DATE.fullmatch(text):  # date.fromisoformat alone accepts week dates too
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
