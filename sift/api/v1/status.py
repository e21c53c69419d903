"""`GET /v1/status` (contract §11)."""

from __future__ import annotations

from flask import Response, g

from sift.api.errors import json_response
from sift.api.services import services
from sift.api.v1 import bp


@bp.get("/status")
def status() -> Response:
    """Give this worker's numbers; only the cap's are those of all workers."""
    if g.caller.cls != "fleet":
        return json_response({"error": "forbidden", "hint": "class"}, 403)
    parts = services()
    used, left = parts.spent()
    return json_response(
        {
            "sources": parts.engine.names,
            "cap": {"used": used, "left": left},
            "cache": parts.cache_stats(),
            "since": parts.since,
        }
    )
