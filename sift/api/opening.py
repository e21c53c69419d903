"""The routes that open pages. What they need is loaded with the first page: a service that opens none spares it."""

from __future__ import annotations

from flask import Blueprint

from sift.api.lazily import lazily

bp = Blueprint("opening", __name__)
bp.add_url_rule("/v1/fetch", "fetch", lazily("sift.api.v1.fetch", "fetch"), methods=["POST"])
bp.add_url_rule("/v2/scrape", "scrape", lazily("sift.api.v2.scrape", "scrape"), methods=["POST"])
