"""The fields of `POST /v1/fetch`, described once, as data."""

from __future__ import annotations

from sift.fields import Field

MAX_URL = 4096
MAX_CHARS = 40_000
TIMEOUT = 15
MAX_AGE = 3600

# In the order in which a wrong field is named when several are.
FIELDS = (
    Field("url", "string", "The page to open", rule="http or https, and public", group="query", max_length=MAX_URL),
    Field(
        "format",
        "string",
        "How to write the page's text",
        group="answer",
        default="markdown",
        choices=("markdown", "text"),
    ),
    Field(
        "max_chars",
        "integer",
        "How many characters to return, cut at the end of a block",
        group="answer",
        default=MAX_CHARS,
        minimum=1000,
        maximum=200_000,
    ),
    Field(
        "start",
        "integer",
        "Which character of the text to begin at",
        rule="to read on, the last answer's next_start",
        group="answer",
        default=0,
        minimum=0,
        maximum=10_000_000,
    ),
    Field(
        "max_age",
        "number",
        "How many seconds old a kept copy may be",
        rule="0 for none",
        group="answer",
        default=MAX_AGE,
        minimum=0,
        maximum=86_400,
    ),
    Field(
        "timeout",
        "number",
        "How many seconds the whole fetch may take",
        group="answer",
        default=TIMEOUT,
        minimum=1,
        maximum=30,
    ),
)
