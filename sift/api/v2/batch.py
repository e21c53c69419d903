"""`/v2/batch/scrape` and what is below it, as Firecrawl's SDKs call it (contract: Batch scrape)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flask import Response, g, request

from sift.api import batch
from sift.api.errors import json_response
from sift.api.services import services
from sift.api.v2.document import MOST_AGE, document, ignored, names, seconds
from sift.batch.model import BatchRequest, BatchState, BatchStatus, PlaceResult
from sift.batch.result import WITH_HTML, read
from sift.batch.schema import load_urls
from sift.errors import UnknownBatchError
from sift.fetch.fields import MAX_AGE

MAX_CHARS = 200_000
"""Characters of each page; a batch has a hundred, which are kept."""
PAGE = 100
"""Documents of one answer at most; their size ends it sooner."""
_STATES: dict[BatchState, str] = {"queued": "scraping", "running": "scraping", "cancelled": "cancelled"}


def submit() -> Response:
    """Take a batch."""
    payload = batch.read_payload()
    receipt = batch.submitted(_wanted(payload), payload, "x-idempotency-key")
    answer: dict[str, Any] = {"success": True, "id": receipt.id, "url": _url(receipt.id)}
    if refused := [each["url"] for each in json.loads(receipt.invalid)]:
        answer["invalidURLs"] = refused
    if warnings := ignored(payload.get("formats")):
        answer["warning"] = "; ".join(warnings)
    # In ASCII: a refused URL may hold what UTF-8 cannot.
    return Response(json.dumps(answer), mimetype="application/json")


def status(id: str) -> Response:
    """Return a batch's numbers and the pages that are there."""
    skip = batch.parameter("skip", 0, 0, 1_000_000)
    limit = batch.parameter("limit", PAGE, 1, PAGE)
    found = batch.status_of(id)  # before the pages: one that has ended then has all of them
    page = batch.jobs().page(g.caller.name, id, offset=skip, limit=limit, only="ok")
    if page is None:
        raise UnknownBatchError
    answer: dict[str, Any] = {
        "success": True,
        "status": _state(found),
        "total": found.total,
        "completed": found.ok,
        "creditsUsed": 0,
        "expiresAt": batch.iso(found.expires_at),
    }
    if page.next_offset is not None:
        answer["next"] = f"{_url(id)}?skip={page.next_offset}&limit={limit}"
    answer["data"] = [_document(place) for place in page.items if place.result is not None]
    return json_response(answer)


def errors(id: str) -> Response:
    """Return the places of a batch that failed."""
    failed = batch.errors_of(id)
    return json_response(
        {
            "errors": [
                {
                    "id": f"{id}-{place.index}",
                    **({} if place.at is None else {"timestamp": batch.iso(place.at)}),
                    "url": place.url,
                    "error": f"{place.error}: {place.hint}" if place.hint else place.error,
                }
                for place in failed
            ],
            "robotsBlocked": [place.url for place in failed if place.error == batch.ROBOTS],
        }
    )


def cancel(id: str) -> Response:
    """End a batch."""
    batch.end(id)
    return json_response({"success": True, "status": "cancelled"})


def _wanted(payload: Mapping[str, Any]) -> BatchRequest:
    """Return the request made from the fields that count; all others are ignored, whatever they hold."""
    has_html = "html" in names(payload.get("formats"))
    return BatchRequest(
        load_urls(payload.get("urls"), g.caller.cls),
        format=WITH_HTML if has_html else "markdown",
        max_chars=MAX_CHARS,
        max_age=seconds(payload.get("maxAge"), MAX_AGE, 0, MOST_AGE),
    )


def _state(found: BatchStatus) -> str:
    """Return a state in Firecrawl's words. One without a single page has failed, which must not be overlooked."""
    return _STATES.get(found.state) or ("completed" if found.ok else "failed")


def _url(id: str) -> str:
    origin = services().public_url or request.host_url.rstrip("/")
    return f"{origin}/v2/batch/scrape/{id}"


def _document(place: PlaceResult) -> dict[str, Any]:
    assert place.result is not None
    page, description, html = read(place.result)
    warnings = tuple(page["warnings"])
    if "next_start" in page:
        warnings += (f"text cut at {page['next_start']} of {page['chars']} characters",)
    return document(
        markdown=page["content"],
        html=html,
        title=page.get("title", ""),
        description=description,
        language=page.get("lang", ""),
        asked=place.url,
        url=page["final_url"],
        status=page["status"],
        content_type=page["content_type"],
        warnings=warnings,
    )
