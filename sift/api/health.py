"""`GET /healthz` and `GET /readyz`, which need no key."""

from __future__ import annotations

from flask import Blueprint, Response

from sift.api.errors import json_response
from sift.api.services import services

bp = Blueprint("health", __name__)


@bp.get("/healthz")
def healthz() -> Response:
    """Return that this worker is alive."""
    return json_response({"status": "ok"})


@bp.get("/readyz")
def readyz() -> Response:
    """Return whether this worker can answer a search, and nothing else."""
    return json_response({"status": "ready"}) if services().ready() else json_response({"status": "not ready"}, 503)
