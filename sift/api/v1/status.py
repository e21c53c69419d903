"""`GET /v1/status`."""

from __future__ import annotations

from flask import Response, g

from sift import __version__
from sift.api.errors import json_response
from sift.api.services import services
from sift.api.v1 import bp


@bp.get("/status")
def status() -> Response:
    """Return the numbers of this worker; the credits alone are those of all workers."""
    if g.caller.cls != "fleet":
        return json_response({"error": "forbidden", "hint": "class"}, 403)
    parts = services()
    capped = parts.credits()
    return json_response(
        {
            "version": __version__,
            "since": parts.since,
            "workers": parts.workers(),
            "sources": [
                {"name": name, **parts.source_status(name)}
                | ({"credits": capped[name]._asdict()} if name in capped else {})
                for name in parts.engine.names
            ],
            "cache": parts.cache_stats(),
            "demo": parts.demo,
        }
    )
