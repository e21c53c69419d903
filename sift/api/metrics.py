"""`GET /metrics` (contract: Metrics)."""

from __future__ import annotations

from flask import Blueprint, Response, g

from sift.api.errors import refuse
from sift.api.services import services

bp = Blueprint("metrics", __name__)


@bp.get("/metrics")
def metrics() -> Response:
    """Return the numbers of all workers in Prometheus's text format."""
    if g.caller.cls != "fleet":
        return refuse(403, "forbidden", hint="class")
    parts = services()
    if parts.scrape is None:
        return refuse(404, "not found", hint=parts.why_no_metrics)
    if (found := parts.scrape()) is None:
        return refuse(503, "metrics unavailable")
    body, content_type = found
    return Response(body, content_type=content_type)
