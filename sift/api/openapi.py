"""`GET /openapi.json` (contract: OpenAPI)."""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint, Response

bp = Blueprint("openapi", __name__)
DOCUMENT = Path(__file__).with_name("openapi.json")
"""Made by `make openapi`."""


@bp.get("/openapi.json")
def openapi() -> Response:
    """Return the description of every route. It is read each time: a worker keeps nothing of it."""
    return Response(DOCUMENT.read_bytes(), mimetype="application/json")
