"""Error responses: JSON in the form of the door that was used (contract: Errors, Firecrawl door, Tavily door)."""

from __future__ import annotations

import logging
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from sift.errors import (
    BatchLimitError,
    FetchError,
    IdempotencyError,
    InvalidBatchError,
    InvalidFetchError,
    InvalidJsonError,
    InvalidQueryError,
    InvalidSearchError,
    SearchUnavailableError,
    StoreError,
    UnauthorizedError,
    UnknownBatchError,
)
from sift.search.fields import MAX_QUERY
from sift.search.model import encode

_log = logging.getLogger("sift.api")
_UNAUTHORIZED = "sift: missing or invalid API key"  # names Sift: the client may think it reached the cloud
_V2_DETAILS = {
    "query": f"query must be a non-empty string of at most {MAX_QUERY} characters",
    "limit": "limit must be a whole number from 1 to 100",
}
_V2_URL = "url must be a string"
# The statuses of failed fetches. The SDKs of v2 repeat a request three times after 502, and read 403 as a site that
# they do not support.
_FETCH = {
    "url not allowed": 403,
    "robots disallow": 403,
    "unsupported content type": 415,
    "fetch failed": 502,
    "fetch timeout": 504,
    "busy": 503,
}
_V2_FETCH = {403: 400, 502: 500}
_V2_FETCH_DETAILS = {
    "robots disallow": "the site's robots.txt does not allow this page to programs",
    "unsupported content type": "the page is neither HTML nor text, JSON, XML or PDF",
    "fetch timeout": "the page did not come in time",
    "busy": "too many pages are being opened",
}
_V2_BATCH = {
    "urls": "urls must be a list of 1 to 100 URLs, 25 for class restricted, and one of them must be allowed",
    "idempotency_key": "x-idempotency-key must be 1 to 64 letters, digits, hyphens and underscores",
    "skip": "skip must be a whole number",
    "limit": "limit must be a whole number from 1 to 100",
}
BUSY_SECONDS = "1"
TAVILY = "/tavily/"
"""Where the paths of Tavily's door begin, and its form of errors."""
_V2_ORIGIN = "origin: the request is from a web page, or for a host name, that is not this service's own"
_V2_UNKNOWN = (
    "sift: no such endpoint; there are POST /v2/search and, unless it is switched off, POST /v2/scrape and "
    "/v2/batch/scrape"
)
_TAVILY_UNKNOWN = (
    "sift: no such endpoint; there are POST /tavily/search and, unless it is switched off, POST /tavily/extract"
)
_V2_UNKNOWN_DETAILS = "this service searches and opens pages; it does not crawl, map or extract"


def install(app: Flask) -> None:
    """Register handlers for every error of the application, including the framework's own."""
    app.register_error_handler(
        InvalidJsonError, lambda _: refuse(400, "invalid json", details="body must be an object")
    )
    app.register_error_handler(InvalidQueryError, lambda _: refuse(400, "invalid query", details=_V2_DETAILS["query"]))
    app.register_error_handler(InvalidSearchError, _invalid_search)
    app.register_error_handler(InvalidFetchError, _invalid_fetch)
    app.register_error_handler(FetchError, _fetch_failed)
    app.register_error_handler(InvalidBatchError, _invalid_batch)
    app.register_error_handler(
        UnknownBatchError, lambda _: refuse(404, "not found", details="there is no such batch, or no longer")
    )
    app.register_error_handler(
        IdempotencyError, lambda _: refuse(422, "idempotency mismatch", details="the key was used for another request")
    )
    app.register_error_handler(BatchLimitError, _too_many_batches)
    app.register_error_handler(StoreError, _store_away)
    app.register_error_handler(UnauthorizedError, _unauthorized)
    app.register_error_handler(SearchUnavailableError, unavailable)
    app.register_error_handler(HTTPException, _framework)
    app.register_error_handler(Exception, _internal)


def json_response(value: object, status: int = 200) -> Response:
    """Return a response with a JSON body."""
    return Response(encode(value), status, mimetype="application/json")


def refuse(status: int, error: str, *, hint: str = "", details: str = "", **more: Any) -> Response:
    """Return an error response.

    Only v2 shows `details`, and Tavily's door where there is no hint; everything else shows `hint` and `more`.
    """
    if _is_v2():
        return json_response({"success": False, "error": error, "details": details}, status)
    if _is_tavily():
        return json_response({"detail": {"error": ": ".join(filter(None, (error, hint or details)))}}, status)
    return json_response({"error": error, "hint": hint, **more}, status)


def refuse_origin() -> Response:
    """Return the response to a web page of another origin. Firecrawl's clients do not expect a 403."""
    return refuse(400 if _is_v2() else 403, "forbidden", hint="origin", details=_V2_ORIGIN)


def unavailable(error: SearchUnavailableError, status: int = 503) -> Response:
    """Return the response to a search that no source answered."""
    response = refuse(
        status,
        "search unavailable",
        details="; ".join(error.warnings),
        warnings=error.warnings,
        sources_failed=error.sources_failed,
    )
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(max(1, error.retry_after))
    return response


def _is_v2() -> bool:
    return request.path.startswith("/v2/")


def _is_tavily() -> bool:
    return request.path.startswith(TAVILY)


def _invalid_search(error: InvalidSearchError) -> Response:
    return refuse(400, "invalid search", hint=error.field, details=_V2_DETAILS.get(error.field, ""))


def _invalid_fetch(error: InvalidFetchError) -> Response:
    return refuse(400, "invalid fetch", hint=error.field, details=_V2_URL)


def _fetch_failed(error: FetchError) -> Response:
    status = _FETCH[error.state]
    if _is_v2():
        status = _V2_FETCH.get(status, status)
    response = refuse(status, error.state, hint=error.hint, details=error.hint or _V2_FETCH_DETAILS[error.state])
    if error.state == "busy":
        response.headers["Retry-After"] = BUSY_SECONDS
    return response


def _invalid_batch(error: InvalidBatchError) -> Response:
    return refuse(400, "invalid batch", hint=error.field, details=_V2_BATCH.get(error.field, ""))


def _too_many_batches(error: BatchLimitError) -> Response:
    response = refuse(429, "rate limited", hint="batch", details="too many of your batches are under way")
    response.headers["Retry-After"] = str(error.retry_after)
    return response


def _store_away(_: StoreError) -> Response:
    response = refuse(503, "busy", details="what keeps the batches does not answer")
    response.headers["Retry-After"] = BUSY_SECONDS
    return response


def _unauthorized(error: UnauthorizedError) -> Response:
    response = refuse(401, _UNAUTHORIZED if _is_v2() or _is_tavily() else "unauthorized")
    response.headers["WWW-Authenticate"] = 'Bearer realm="sift"'
    return response


def _framework(error: HTTPException) -> Response:
    status = error.code or 500
    if status == 404 and _is_v2():
        return refuse(404, _V2_UNKNOWN, details=_V2_UNKNOWN_DETAILS)
    if status == 404 and _is_tavily():
        return refuse(404, _TAVILY_UNKNOWN)
    name = "request too large" if status == 413 else error.name.lower()
    response = refuse(status, name)
    if status == 405 and (methods := getattr(error, "valid_methods", None)):
        response.headers["Allow"] = ", ".join(sorted(methods))
    return response


def _internal(error: Exception) -> Response:
    at = error.__traceback__
    while at and at.tb_next:
        at = at.tb_next
    place = f"{at.tb_frame.f_globals.get('__name__')}:{at.tb_lineno}" if at else ""
    _log.error("internal_error", extra={"fields": {"type": type(error).__name__, "at": place}})
    return refuse(500, "internal error")
