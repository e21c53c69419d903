"""The routes of other programs' shapes: Firecrawl's and Tavily's."""

from __future__ import annotations

from typing import Any

from sift.api.doors.tavily import fields
from sift.api.doors.tavily.extract import MAX_URLS
from sift.api.doors.tavily.search import DEFAULT_RESULTS, MAX_DAYS, MAX_RESULTS
from sift.api.v2.batch import PAGE as MOST_DOCUMENTS
from sift.api.v2.document import MOST_AGE
from sift.api.v2.search import DEFAULT_LIMIT, MAX_LIMIT
from sift.batch.fields import MOST_URLS
from sift.fetch.fields import FIELDS as OF_FETCH
from sift.fetch.fields import MAX_AGE, TIMEOUT
from sift.search.fields import FIELDS as OF_SEARCH
from tests.openapi import errors
from tests.openapi.operations import Route, Try, idempotency, path_id, whole
from tests.openapi.routes import HIT, ID, LATER, NOON, PAGE
from tests.openapi.shapes import BOOL, COUNT, MOMENT, NUMBER, TEXT, Schema, closed, field_schema, many, ref

FIELD = {field.name: field for field in OF_SEARCH}
FETCH_FIELD = {field.name: field for field in OF_FETCH}
SUCCESS: Schema = {"const": True}
REQUEST_ID: Schema = {"type": "string", "format": "uuid"}
WARNINGS = many(TEXT)
FORMATS: Schema = {
    "type": "array",
    "items": {"type": ["string", "object"]},
    "description": "`markdown` is always there; `html` is given when it is named",
}
_AGE: Schema = {"type": "number", "default": MAX_AGE * 1000, "maximum": MOST_AGE * 1000, "minimum": 0}
AGE = _AGE | {"description": "How many milliseconds old a kept copy may be"}
DOCUMENT = closed(
    {
        "markdown": TEXT,
        "metadata": closed(
            {"title": TEXT, "sourceURL": TEXT, "url": TEXT, "statusCode": COUNT, "contentType": TEXT},
            {"description": TEXT, "language": TEXT},
        ),
    },
    {"html": TEXT, "warning": TEXT},
)
SCHEMAS = {
    "FirecrawlSearch": closed(
        {
            "success": SUCCESS,
            "data": closed(
                {
                    "web": many(
                        closed({"url": TEXT, "title": TEXT, "description": TEXT, "position": COUNT}),
                    )
                }
            ),
        },
        {"warning": TEXT},
    ),
    "FirecrawlDocument": DOCUMENT,
    "FirecrawlScrape": closed({"success": SUCCESS, "data": ref("FirecrawlDocument")}),
    "FirecrawlReceipt": closed(
        {"success": SUCCESS, "id": TEXT, "url": TEXT}, {"invalidURLs": many(TEXT), "warning": TEXT}
    ),
    "FirecrawlBatch": closed(
        {
            "success": SUCCESS,
            "status": {"enum": ["scraping", "completed", "cancelled", "failed"]},
            "total": COUNT,
            "completed": COUNT,
            "creditsUsed": {"const": 0},
            "expiresAt": MOMENT,
            "data": many(ref("FirecrawlDocument")),
        },
        {"next": TEXT},
    ),
    "FirecrawlErrors": closed(
        {
            "errors": many(closed({"id": TEXT, "url": TEXT, "error": TEXT}, {"timestamp": MOMENT})),
            "robotsBlocked": many(TEXT),
        }
    ),
    "FirecrawlCancelled": closed({"success": SUCCESS, "status": {"const": "cancelled"}}),
    "TavilySearch": closed(
        {
            "query": TEXT,
            "follow_up_questions": {"type": "null"},
            "answer": {"type": "null"},
            "images": {"type": "array", "maxItems": 0},
            "results": many(
                closed(
                    {
                        "title": TEXT,
                        "url": TEXT,
                        "content": TEXT,
                        "score": {"type": "number", "minimum": 0, "maximum": 1},
                        "raw_content": {"type": "null"},
                    },
                    {"published_date": TEXT},
                )
            ),
            "response_time": NUMBER,
            "request_id": REQUEST_ID,
            "warnings": WARNINGS,
        }
    ),
    "TavilyExtract": closed(
        {
            "results": many(
                closed({"url": TEXT, "raw_content": TEXT, "images": {"type": "array", "maxItems": 0}}),
            ),
            "failed_results": many(closed({"url": TEXT, "error": TEXT})),
            "response_time": NUMBER,
            "request_id": REQUEST_ID,
            "warnings": WARNINGS,
        }
    ),
}
"""What the doors answer, by name."""


def _object(properties: dict[str, Any], *required: str) -> Schema:
    return {"type": "object", "properties": properties, "required": list(required)}


def _ignored(names: Any) -> dict[str, Any]:
    return {name: {"description": "Ignored; named in `warnings` when it asks for something."} for name in names}


_URLS = many(TEXT) | {"minItems": 1, "maxItems": MOST_URLS["fleet"], "description": "The pages to open"}
_KEY = {fields.KEY: TEXT | {"description": "The key, where no header shows it"}}
_DOCUMENT = {
    "markdown": "# A guide\n\nHow it is done.",
    "metadata": {"title": "A guide", "sourceURL": PAGE, "url": PAGE, "statusCode": 200, "contentType": "text/html"},
}
_TAVILY = {"response_time": 0.41, "request_id": "00000000-0000-4000-8000-000000000000", "warnings": []}
_BATCH_URL = f"https://sift.example.org/v2/batch/scrape/{ID}"


def _answered(text: str, answer: Any) -> dict[str, Try]:
    return {"answer": Try(text, None, answer)}


ROUTES = (
    Route(
        "/v2/search",
        "post",
        "firecrawl",
        "Search as Firecrawl's clients do.",
        ref("FirecrawlSearch"),
        errors.V2_SEARCH,
        _object(
            {
                "query": field_schema(FIELD["query"]),
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
            },
            "query",
        ),
        {
            "plain": Try(
                "A query",
                {"query": "example guide", "limit": 3},
                {
                    "success": True,
                    "data": {
                        "web": [
                            {"url": PAGE, "title": HIT["title"], "description": HIT["snippet"], "position": 1},
                        ]
                    },
                },
            )
        },
    ),
    Route(
        "/v2/scrape",
        "post",
        "firecrawl",
        "Open a page as Firecrawl's clients do.",
        ref("FirecrawlScrape"),
        errors.V2_SCRAPE,
        _object(
            {
                "url": TEXT | {"minLength": 1, "description": "The page to open"},
                "formats": FORMATS,
                "maxAge": AGE,
                "timeout": {
                    "type": "number",
                    "description": "How many milliseconds the fetch may take, brought to within 1000 and 30000",
                    "default": TIMEOUT * 1000,
                },
            },
            "url",
        ),
        {"plain": Try("A page", {"url": PAGE, "formats": ["markdown"]}, {"success": True, "data": _DOCUMENT})},
    ),
    Route(
        "/v2/batch/scrape",
        "post",
        "firecrawl",
        "Have several pages opened as Firecrawl's clients do.",
        ref("FirecrawlReceipt"),
        errors.V2_BATCH,
        _object({"urls": _URLS, "formats": FORMATS, "maxAge": AGE}, "urls"),
        {"plain": Try("A page", {"urls": [PAGE]}, {"success": True, "id": ID, "url": _BATCH_URL})},
        parameters=[idempotency("x-idempotency-key")],
    ),
    Route(
        "/v2/batch/scrape/{id}",
        "get",
        "firecrawl",
        "Give the pages of a batch that are there.",
        ref("FirecrawlBatch"),
        errors.V2_PAGED,
        tries=_answered(
            "A batch that is through",
            {
                "success": True,
                "status": "completed",
                "total": 2,
                "completed": 1,
                "creditsUsed": 0,
                "expiresAt": LATER,
                "data": [_DOCUMENT],
            },
        ),
        parameters=[
            path_id(),
            whole("skip", "How many documents to leave out.", 0, 1_000_000, 0),
            whole("limit", "How many to return at most; 2 MiB end it sooner.", 1, MOST_DOCUMENTS, MOST_DOCUMENTS),
        ],
    ),
    Route(
        "/v2/batch/scrape/{id}",
        "delete",
        "firecrawl",
        "End a batch.",
        ref("FirecrawlCancelled"),
        errors.V2_READ,
        tries=_answered("It has ended", {"success": True, "status": "cancelled"}),
        parameters=[path_id()],
    ),
    Route(
        "/v2/batch/scrape/{id}/errors",
        "get",
        "firecrawl",
        "List the pages of a batch that could not be had.",
        ref("FirecrawlErrors"),
        errors.V2_READ,
        tries=_answered(
            "One page",
            {
                "errors": [
                    {
                        "id": f"{ID}-1",
                        "timestamp": NOON,
                        "url": "https://example.org/gone",
                        "error": "fetch failed: status 404",
                    }
                ],
                "robotsBlocked": [],
            },
        ),
        parameters=[path_id()],
    ),
    Route(
        "/tavily/search",
        "post",
        "tavily",
        "Search as Tavily's clients do.",
        ref("TavilySearch"),
        errors.TAVILY_SEARCH,
        _object(
            {
                "query": field_schema(FIELD["query"]),
                **{name: field_schema(field) for name, field in FIELD.items() if field.group == "filter"},
                "max_results": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": MAX_RESULTS,
                    "default": DEFAULT_RESULTS,
                    "description": "How many hits to return; at 0 nobody is asked",
                },
                "days": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MAX_DAYS,
                    "description": "How many days old a page may be, with `topic: news` and without another date",
                },
                "include_published_date": BOOL | {"description": "Dates are always given"},
                **_KEY,
                **_ignored(fields.SEARCH),
            },
            "query",
        ),
        {
            "plain": Try(
                "A query",
                {"query": "example guide", "max_results": 3},
                {
                    "query": "example guide",
                    "follow_up_questions": None,
                    "answer": None,
                    "images": [],
                    "results": [
                        {
                            "title": HIT["title"],
                            "url": PAGE,
                            "content": HIT["snippet"],
                            "score": 1.0,
                            "raw_content": None,
                        }
                    ],
                    **_TAVILY,
                },
            )
        },
        key_in_body=True,
    ),
    Route(
        "/tavily/extract",
        "post",
        "tavily",
        "Open pages as Tavily's clients do.",
        ref("TavilyExtract"),
        errors.TAVILY_EXTRACT,
        _object(
            {
                "urls": {
                    "anyOf": [TEXT | {"minLength": 1}, many(TEXT) | {"minItems": 1, "maxItems": MAX_URLS}],
                    "description": "The pages to open",
                },
                "format": field_schema(FETCH_FIELD["format"]),
                "timeout": {
                    "type": "number",
                    "default": 10,
                    "description": "Seconds for all pages, brought to within 1 and 30; nine tenths of it are used",
                },
                **_KEY,
                **_ignored(fields.EXTRACT),
            },
            "urls",
        ),
        {
            "plain": Try(
                "A page, and one that may not be opened",
                {"urls": [PAGE, "ftp://example.org/"]},
                {
                    "results": [{"url": PAGE, "raw_content": "# A guide\n\nHow it is done.", "images": []}],
                    "failed_results": [{"url": "ftp://example.org/", "error": "url not allowed: scheme"}],
                    **_TAVILY,
                },
            )
        },
        key_in_body=True,
    ),
)
