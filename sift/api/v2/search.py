"""`POST /v2/search` as Firecrawl's SDKs and Hermes call it (contract: Firecrawl door)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flask import Response, g
from flask import request as http_request

from sift.api.body import parse_object, read_body
from sift.api.errors import json_response
from sift.api.search import run_search
from sift.api.services import services
from sift.api.v2 import bp
from sift.errors import InvalidSearchError
from sift.search.fields import MAX_K
from sift.search.model import SearchRequest
from sift.search.query import clean_query

DEFAULT_LIMIT = 10
MAX_LIMIT = 100


@bp.post("/search")
def search() -> Response:
    """Search all sources, without filters."""
    request = read(parse_object(read_body(http_request.environ)))
    parts = services()
    result = run_search(parts, g.caller, request, parts.notices).result
    body: dict[str, Any] = {"success": True, "data": {"web": web(result.hits())}}
    if warnings := result.warnings + result.skips + parts.notices:
        body["warning"] = "; ".join(warnings)
    return json_response(body)


def read(payload: Mapping[str, Any]) -> SearchRequest:
    """Return the request made from `query` and `limit`; all other fields are ignored, whatever they hold.

    Raises InvalidQueryError, or InvalidSearchError naming `limit`.
    """
    query = clean_query(payload.get("query"))
    limit = payload.get("limit")
    if limit is None:
        limit = DEFAULT_LIMIT
    if type(limit) is not int or not 1 <= limit <= MAX_LIMIT:
        raise InvalidSearchError("limit")
    return SearchRequest((query,), k=min(limit, MAX_K))


def web(hits: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return hits in Firecrawl's form, with no other keys: given `markdown`, the SDK drops url and title."""
    return [
        {
            "url": hit["url"],
            "title": hit["title"],
            "description": hit["snippet"] or hit["title"],
            "position": position,
        }
        for position, hit in enumerate(hits, 1)
    ]
