"""The whole document, by apispec."""

from __future__ import annotations

import json
from typing import Any

from apispec import APISpec

from sift import __version__
from tests.openapi import doors, routes
from tests.openapi.operations import Route, operation
from tests.openapi.shapes import SCHEMAS

ABOUT = """A private search gateway: one list from several sources, and the text of pages.

A `HEAD` is answered as a `GET` without its body. A method that is not listed is a 405, `method not allowed`, and
a path that is not listed a 404, `not found`, both in v1's form of errors, below `/v2/` and `/tavily/` in theirs. Bodies
are JSON, whatever their content type, of 64 KiB at most, and of 512 KiB where a batch is submitted."""
TAGS = {
    "search": "Searching",
    "pages": "Opening one page",
    "batches": "Opening many pages, in the background",
    "service": "The service itself",
    "page": "The page for people, where it is switched on",
    "firecrawl": "What Firecrawl's clients call",
    "tavily": "What Tavily's clients call",
}
ROUTES: tuple[Route, ...] = (*routes.ROUTES, *doors.ROUTES)


def document() -> dict[str, Any]:
    """Return the document."""
    spec = APISpec(
        title="Sift",
        version=__version__,
        openapi_version="3.1.0",
        info={"description": ABOUT},
        servers=[{"url": "/"}],
        security=[{"key": []}],
        tags=[{"name": name, "description": text} for name, text in TAGS.items()],
    )
    spec.components.security_scheme("key", {"type": "http", "scheme": "bearer"})
    for name, schema in (SCHEMAS | doors.SCHEMAS).items():
        spec.components.schema(name, schema)
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method] = operation(route)
    for path, operations in paths.items():
        spec.path(path, operations=operations)
    made: dict[str, Any] = spec.to_dict()
    return made


def text() -> str:
    """Return the document as it is committed."""
    return json.dumps(document(), ensure_ascii=False, indent=1) + "\n"
