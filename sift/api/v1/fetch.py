"""`POST /v1/fetch` (contract: Fetch)."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, g, request

from sift.api.body import parse_object, read_body
from sift.api.errors import json_response
from sift.api.fetch import run_fetch
from sift.api.services import services
from sift.fetch.cut import cut
from sift.fetch.model import FetchRequest, Page
from sift.fetch.schema import load_fetch, unknown_field_warnings

bp = Blueprint("v1_fetch", __name__, url_prefix="/v1")


@bp.post("/fetch")
def fetch() -> Response:
    """Open one page."""
    payload = parse_object(read_body(request.environ))
    wanted = load_fetch(payload)
    page, is_cached = run_fetch(services(), g.caller, wanted)
    return json_response(envelope(wanted, page, unknown_field_warnings(payload), is_cached=is_cached))


def envelope(wanted: FetchRequest, page: Page, warnings: tuple[str, ...], *, is_cached: bool) -> dict[str, Any]:
    """Return the answer, keys in the contract's order; what the page does not declare is left out."""
    text = page.text
    content, following = cut(text.content, wanted.start, wanted.max_chars)
    declared = {
        "title": text.title,
        "author": text.author,
        "published_date": text.published_date,
        "lang": text.lang,
    }
    return {
        "url": wanted.url,
        "final_url": page.url,
        "status": page.status,
        "content_type": page.content_type,
        **{name: value for name, value in declared.items() if value},
        "format": wanted.format,
        "content": content,
        "chars": len(text.content),
        "start": wanted.start,
        **({} if following is None else {"next_start": following}),
        "extractor": text.extractor,
        "cached": is_cached,
        "fetched_at": page.fetched_at,
        "sizes": page.sizes._asdict(),
        "warnings": page.warnings + warnings,
    }
