"""What a worker stores of a page, and what callers are given of it (contract: Batch, Batch scrape).

The bytes are one or two lines of JSON in UTF-8. The first is the answer of `POST /v1/fetch` without its `url`, which
each place of the batch has its own of; it is given out as it is. The second is there when `/v2` has more to give:
`description` and `html`, as far as there are any.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, cast

from sift.batch.model import Claim
from sift.fetch.answer import envelope
from sift.fetch.extract.model import Format
from sift.fetch.fields import TIMEOUT
from sift.fetch.model import FetchRequest, Page

WITH_HTML = "markdown+html"
"""The format of a batch, beside those of a fetch, whose items are wanted as cleaned HTML as well."""
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


class Stored(NamedTuple):
    """A stored result, read.

    page: the answer of `POST /v1/fetch` without its `url`. description, html: "" where there is none.
    """

    page: dict[str, Any]
    description: str
    html: str


def wanted(claim: Claim) -> FetchRequest:
    """Return the fetch that an item asks for, in the time that is left to its batch."""
    has_html = claim.format == WITH_HTML
    return FetchRequest(
        claim.url,
        format="markdown" if has_html else cast(Format, claim.format),
        max_chars=claim.max_chars,
        max_age=claim.max_age,
        timeout=min(TIMEOUT, claim.seconds),
        html=has_html,
    )


def encode(request: FetchRequest, page: Page, *, is_cached: bool) -> bytes:
    """Return what is stored of an item's page."""
    answer = envelope(request, page, is_cached=is_cached)
    del answer["url"]
    more = {"description": page.text.description, "html": page.text.html if request.html else ""}
    given = {name: value for name, value in more.items() if value}
    lines = [answer, given] if given else [answer]
    return "\n".join(map(_encoder.encode, lines)).encode("utf-8", "replace")


def answer_of(result: bytes, url: str) -> bytes:
    """Return the JSON of a result as the answer of `POST /v1/fetch` for the URL of its place."""
    first, _, _ = result.partition(b"\n")
    return b'{"url": ' + _encoder.encode(url).encode() + b", " + first[1:]


def read(result: bytes) -> Stored:
    """Return a result in its parts."""
    first, _, second = result.partition(b"\n")
    more = json.loads(second) if second else {}
    return Stored(json.loads(first), more.get("description", ""), more.get("html", ""))
