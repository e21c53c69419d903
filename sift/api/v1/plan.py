"""`POST /v1/plan` (contract: Plan)."""

from __future__ import annotations

from flask import Response, g, request

from sift.api.body import read_body
from sift.api.errors import json_response
from sift.api.services import services
from sift.api.v1.search import read


def plan() -> Response:
    """Say what a search would do, without doing it."""
    reading = read(read_body(request.environ))
    parts = services()
    found = parts.engine.plan(reading.request, g.caller.cls)
    return json_response(
        {
            "queries": reading.request.queries,
            "cached": found.cached,
            "sources": [source.as_dict() for source in found.sources],
            "credits": {"most": sum(source.credits for source in found.sources), "left": found.left},
            "worst_case_seconds": round(found.seconds, 1) if found.seconds % 1 else int(found.seconds),
            "warnings": reading.warnings + parts.notices,
        }
    )
