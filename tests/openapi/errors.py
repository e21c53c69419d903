"""The error responses of the routes, in the forms of v1 and of the two other doors."""

from __future__ import annotations

from itertools import groupby
from typing import Any, NamedTuple

from tests.openapi.shapes import TEXT, Schema, closed, many

Body = dict[str, Any]
WARNINGS = ["searxng: timeout"]
_V2_FETCH = "the site's robots.txt does not allow this page to programs"


class Wrong(NamedTuple):
    """One error: its status, when it comes, an example of its body; waits: whether `Retry-After` may be there."""

    status: int
    text: str
    body: Body
    waits: bool = False


def v1(status: int, error: str, text: str, hint: str = "", *, waits: bool = False) -> Wrong:
    """Return an error in v1's form."""
    return Wrong(status, text, {"error": error, "hint": hint}, waits)


def v2(status: int, error: str, text: str, details: str = "", *, waits: bool = False) -> Wrong:
    """Return an error in Firecrawl's form."""
    return Wrong(status, text, {"success": False, "error": error, "details": details}, waits)


def tavily(status: int, error: str, text: str, *, waits: bool = False) -> Wrong:
    """Return an error in Tavily's form."""
    return Wrong(status, text, {"detail": {"error": error}}, waits)


_NO_JSON, _LONG, _NO_KEY = "The body is no JSON object", "The body is too long", "No valid key"
_FOREIGN, _FAULT, _OFF = "A web page of another origin asks", "A fault in Sift", "This service opens no pages"
_QUERY, _FIELD = "`query` or `queries` is wrong", "Another field is wrong; the hint is its name"
_NONE, _AWAY = "No source answered", "What keeps the batches does not answer"
_BATCHES, _REUSED = "As many batches are under way as the caller may have", "The key was used for another request"
_GONE = "There is no such batch of this caller, or this service opens no pages"
_REFUSED, _ROBOTS = "The text of the URL rules it out; the hint is why", "The site's robots.txt does not allow the page"
_TYPE, _FAILED, _LATE = (
    "The page is no text",
    "The page could not be had; the hint is why",
    "The page did not come in time",
)
_BUSY = "As many pages are being opened as may be"

KEYED = (
    v1(401, "unauthorized", _NO_KEY),
    v1(403, "forbidden", _FOREIGN, "origin"),
    v1(500, "internal error", _FAULT),
)
"""What any route of v1 may answer."""
SENT = (v1(400, "invalid json", _NO_JSON), v1(413, "request too large", _LONG), *KEYED)
"""What any of them that takes a body may answer."""
SEARCH = (
    *SENT,
    v1(400, "invalid query", _QUERY),
    v1(400, "invalid search", _FIELD, "time_range"),
)
UNAVAILABLE = Wrong(
    503,
    _NONE,
    {"error": "search unavailable", "hint": "", "warnings": WARNINGS, "sources_failed": ["searxng"]},
    waits=True,
)
FETCH = (
    *SENT,
    v1(400, "invalid fetch", "A field is wrong; the hint is its name", "max_chars"),
    v1(403, "url not allowed", _REFUSED, "scheme"),
    v1(403, "robots disallow", _ROBOTS),
    v1(404, "not found", _OFF),
    v1(415, "unsupported content type", _TYPE),
    v1(502, "fetch failed", _FAILED, "status 404"),
    v1(503, "busy", _BUSY, waits=True),
    v1(504, "fetch timeout", _LATE),
)
_STORE = v1(503, "busy", _AWAY, waits=True)
BATCH = (
    *SENT,
    v1(400, "invalid batch", "A field is wrong; the hint is its name", "urls"),
    v1(404, "not found", _OFF),
    v1(422, "idempotency mismatch", _REUSED),
    v1(429, "rate limited", _BATCHES, "batch", waits=True),
    _STORE,
)
LISTED = (*KEYED, v1(404, "not found", _OFF), _STORE)
READ = (*KEYED, v1(404, "not found", _GONE), _STORE)
CLASS = (*KEYED, v1(403, "forbidden", "The key is not of class `fleet`", "class"))

_V2_SENT = (
    v2(400, "invalid json", _NO_JSON, "body must be an object"),
    v2(413, "request too large", _LONG),
)
_V2_KEYED = (
    v2(
        400,
        "forbidden",
        _FOREIGN,
        "origin: the request is from a web page, or for a host name, that is not this service's own",
    ),
    v2(401, "sift: missing or invalid API key", _NO_KEY),
    v2(500, "internal error", _FAULT),
)
_V2_OFF = v2(
    404,
    "sift: no such endpoint; there are POST /v2/search and, unless it is switched off, POST /v2/scrape and "
    "/v2/batch/scrape",
    _OFF,
    "this service searches and opens pages; it does not crawl, map or extract",
)
V2_SEARCH = (
    *_V2_SENT,
    *_V2_KEYED,
    v2(400, "invalid query", "`query` is wrong", "query must be a non-empty string of at most 1500 characters"),
    v2(400, "invalid search", "`limit` is wrong", "limit must be a whole number from 1 to 100"),
    v2(503, "search unavailable", _NONE, "; ".join(WARNINGS), waits=True),
)
V2_SCRAPE = (
    *_V2_SENT,
    *_V2_KEYED,
    v2(400, "invalid fetch", "`url` is wrong", "url must be a string"),
    v2(400, "url not allowed", _REFUSED, "scheme"),
    v2(400, "robots disallow", _ROBOTS, _V2_FETCH),
    _V2_OFF,
    v2(415, "unsupported content type", _TYPE, "the page is neither HTML nor text, JSON, XML or PDF"),
    v2(500, "fetch failed", _FAILED, "status 404"),
    v2(503, "busy", _BUSY, "too many pages are being opened", waits=True),
    v2(504, "fetch timeout", _LATE, "the page did not come in time"),
)
_V2_STORE = v2(503, "busy", _AWAY, "what keeps the batches does not answer", waits=True)
V2_BATCH = (
    *_V2_SENT,
    *_V2_KEYED,
    v2(
        400,
        "invalid batch",
        "A field is wrong",
        "urls must be a list of 1 to 100 URLs, 25 for class restricted, and one of them must be allowed",
    ),
    _V2_OFF,
    v2(422, "idempotency mismatch", _REUSED, "the key was used for another request"),
    v2(429, "rate limited", _BATCHES, "too many of your batches are under way", waits=True),
    _V2_STORE,
)
V2_READ = (
    *_V2_KEYED,
    v2(404, "not found", "There is no such batch of this caller", "there is no such batch, or no longer"),
    _V2_OFF,
    _V2_STORE,
)
V2_PAGED = (
    *V2_READ,
    v2(400, "invalid batch", "A parameter is wrong", "limit must be a whole number from 1 to 100"),
)

_TAVILY = (
    tavily(400, "invalid json: body must be an object", _NO_JSON),
    tavily(401, "sift: missing or invalid API key", _NO_KEY),
    tavily(403, "forbidden: origin", _FOREIGN),
    tavily(413, "request too large", _LONG),
    tavily(500, "internal error", _FAULT),
)
TAVILY_SEARCH = (
    *_TAVILY,
    tavily(400, "invalid query: query must be a non-empty string of at most 1500 characters", "`query` is wrong"),
    tavily(400, "invalid search: max_results", "Another field is wrong, which is named"),
    tavily(432, "search unavailable: tavily: daily cap", "All sources' budgets are used up", waits=True),
    tavily(503, f"search unavailable: {'; '.join(WARNINGS)}", _NONE, waits=True),
)
TAVILY_EXTRACT = (
    *_TAVILY,
    tavily(400, "invalid fetch: urls", "A field is wrong, which is named"),
    tavily(
        404,
        "sift: no such endpoint; there are POST /tavily/search and, unless it is switched off, POST /tavily/extract",
        _OFF,
    ),
    tavily(429, "busy: too many pages are being opened", "There was no place for any of the pages", waits=True),
)


def responses(*wrongs: Wrong) -> dict[str, Any]:
    """Return the responses by status, each with all its examples."""

    def status(wrong: Wrong) -> int:
        return wrong.status

    return {str(key): _response(list(found)) for key, found in groupby(sorted(wrongs, key=status), status)}


def _response(wrongs: list[Wrong]) -> dict[str, Any]:
    examples = {_name(wrong.body): {"summary": wrong.text, "value": wrong.body} for wrong in wrongs}
    content = {"application/json": {"schema": _schema([wrong.body for wrong in wrongs]), "examples": examples}}
    response: dict[str, Any] = {"description": ". ".join(wrong.text for wrong in wrongs) + ".", "content": content}
    headers: dict[str, Any] = {}
    if any(wrong.waits for wrong in wrongs):
        headers["Retry-After"] = {"description": "Seconds", "schema": {"type": "string", "pattern": "^[0-9]+$"}}
    if wrongs[0].status == 401:
        headers["WWW-Authenticate"] = {"schema": {"const": 'Bearer realm="sift"'}}
    return response | ({"headers": headers} if headers else {})


def _schema(bodies: list[Body]) -> Schema:
    if "detail" in bodies[0]:
        begins = sorted({body["detail"]["error"].partition(":")[0] for body in bodies})
        return closed({"detail": closed({"error": TEXT | {"pattern": f"^({'|'.join(begins)})"}})})
    words: Schema = {"enum": sorted({body["error"] for body in bodies})}
    if "success" in bodies[0]:
        return closed({"success": {"const": False}, "error": words, "details": TEXT})
    needed = {"error": words, "hint": TEXT}
    if "warnings" in bodies[0]:
        needed |= {"warnings": many(TEXT), "sources_failed": many(TEXT)}
    return closed(needed)


def _name(body: Body) -> str:
    """Return the name of an example: the words, with what tells two of the same words apart."""
    if "detail" in body:
        return "_".join(body["detail"]["error"].partition(":")[0].split())
    words = "_".join(body["error"].partition(";")[0].split())
    return f"{words}_{body['hint'].replace(' ', '_')}" if body.get("hint") else words.replace(":", "")
