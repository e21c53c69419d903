"""`GET /healthz`, the only route that needs no key."""

from __future__ import annotations

from flask import Blueprint, Response

from sift.api.errors import json_response

bp = Blueprint("health", __name__)


@bp.get("/healthz")
def healthz() -> Response:
    """Return that this worker is alive."""
    return json_response({"status": "ok"})
