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
from sift.errors import InvalidFetchError
from sift.fetch.fields import MAX_AGE, TIMEOUT
from sift.fetch.model import FetchRequest, Page

GIVEN = ("markdown", "html")
"""The formats that Sift has; `markdown` is in every answer."""
_MAX_AGE = 86_400
_NAMED = 5
"""Formats named at most in a warning."""


def scrape() -> Response:
    """Open one page."""
    payload = parse_object(read_body(http_request.environ))
    wanted = read(payload)
    page, _ = run_fetch(services(), g.caller, wanted)
    return json_response({"success": True, "data": document(wanted, page, ignored(payload.get("formats")))})


def read(payload: Mapping[str, Any]) -> FetchRequest:
    """Return the request made from the fields that count; all others are ignored, whatever they hold.

    Raises InvalidFetchError naming `url`.
    """
    url = payload.get("url")
    if not isinstance(url, str) or not url:
        raise InvalidFetchError("url")
    return FetchRequest(
        url,
        max_age=_seconds(payload.get("maxAge"), MAX_AGE, 0, _MAX_AGE),
        timeout=_seconds(payload.get("timeout"), TIMEOUT, 1, 30),
        html="html" in _formats(payload.get("formats")),
    )


def document(wanted: FetchRequest, page: Page, warnings: tuple[str, ...]) -> dict[str, Any]:
    """Return a page in Firecrawl's form. Its models refuse null, so metadata are strings and numbers."""
    text = page.text
    declared = {"description": text.description, "language": text.lang}
    data: dict[str, Any] = {"markdown": text.content}
    if wanted.html and text.html:
        data["html"] = text.html
    data["metadata"] = {
        "title": text.title,
        **{name: value for name, value in declared.items() if value},
        "sourceURL": wanted.url,
        "url": page.url,
        "statusCode": page.status,
        "contentType": page.content_type,
    }
    if said := page.warnings + warnings:
        data["warning"] = "; ".join(said)
    return data


def ignored(formats: object) -> tuple[str, ...]:
    """Return the warning that names the formats Sift does not have; none when it has all."""
    unknown = [each for each in _formats(formats) if each not in GIVEN][:_NAMED]
    return (f"formats ignored: {', '.join(unknown)}",) if unknown else ()


def _formats(formats: object) -> list[str]:
    """Return the names of formats, which are strings or objects with a `type`."""
    names = []
    for each in formats if isinstance(formats, list) else []:
        name = each.get("type") if isinstance(each, dict) else each
        if isinstance(name, str) and name.isprintable():
            names.append(name[:32])
    return list(dict.fromkeys(names))


def _seconds(milliseconds: object, default: float, low: float, high: float) -> float:
    """Return seconds within bounds; the default for what is no number."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return default
    # Bounded before it is divided: JSON has integers that no float can hold.
    return min(max(milliseconds, low * 1000), high * 1000) / 1000
