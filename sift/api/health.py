"""`GET /healthz`, the one route without a key."""

from __future__ import annotations

from flask import Blueprint, Response

from sift.api.errors import json_response

bp = Blueprint("health", __name__)


@bp.get("/healthz")
def healthz() -> Response:
    """Say that this worker answers."""
    return json_response({"status": "ok"})
