"""The native API."""

from flask import Blueprint

from sift.api.lazily import lazily

bp = Blueprint("v1", __name__, url_prefix="/v1")
bp.add_url_rule("/plan", "plan", lazily("sift.api.v1.plan", "plan"), methods=["POST"])
bp.add_url_rule("/usage", "usage", lazily("sift.api.v1.usage", "usage"), methods=["GET"])

from sift.api.v1 import search, status  # noqa: E402, F401
