"""`POST /v2/scrape` as Firecrawl's SDKs and Hermes call it (contract: Scrape)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Response, g
from flask import request as http_request

from sift.api.body import parse_object, read_body
from sift.api.errors import json_response
from sift.api.fetch import run_fetch
from sift.api.services import services
from sift.api.v2.document import MOST_AGE, document, ignored, names, seconds
from sift.errors import InvalidFetchError
from sift.fetch.fields import MAX_AGE, TIMEOUT
from sift.fetch.model import FetchRequest, Page


def scrape() -> Response:
    """Open one page."""
    payload = parse_object(read_body(http_request.environ))
    wanted = read(payload)
    page, _ = run_fetch(services(), g.caller, wanted)
    return json_response({"success": True, "data": _document(wanted, page, ignored(payload.get("formats")))})


def read(payload: Mapping[str, Any]) -> FetchRequest:
    """Return the request made from the fields that count; all others are ignored, whatever they hold.

    Raises InvalidFetchError naming `url`.
    """
    url = payload.get("url")
    if not isinstance(url, str) or not url:
        raise InvalidFetchError("url")
    return FetchRequest(
        url,
        max_age=seconds(payload.get("maxAge"), MAX_AGE, 0, MOST_AGE),
        timeout=seconds(payload.get("timeout"), TIMEOUT, 1, 30),
        html="html" in names(payload.get("formats")),
    )


def _document(wanted: FetchRequest, page: Page, warnings: tuple[str, ...]) -> dict[str, Any]:
    text = page.text
    return document(
        markdown=text.content,
        html=text.html if wanted.html else "",
        title=text.title,
        description=text.description,
        language=text.lang,
        asked=wanted.url,
        url=page.url,
        status=page.status,
        content_type=page.content_type,
        warnings=page.warnings + warnings,
    )
