"""The routes whose code is loaded with their first request, since most services never need it."""

from __future__ import annotations

from flask import Blueprint

from sift.api.lazily import lazily

bp = Blueprint("opening", __name__)
"""Those that open pages."""
doors = Blueprint("doors", __name__)
"""Those of other programs' search APIs that open none."""
batches = Blueprint("batches", __name__)

bp.add_url_rule("/v1/fetch", "fetch", lazily("sift.api.v1.fetch", "fetch"), methods=["POST"])
bp.add_url_rule("/v2/scrape", "scrape", lazily("sift.api.v2.scrape", "scrape"), methods=["POST"])
bp.add_url_rule("/tavily/extract", "extract", lazily("sift.api.doors.tavily.extract", "extract"), methods=["POST"])
doors.add_url_rule("/tavily/search", "tavily", lazily("sift.api.doors.tavily.search", "search"), methods=["POST"])

for _path, _view, _method in (
    ("", "submit", "POST"),
    ("", "listed", "GET"),
    ("/<id>", "status", "GET"),
    ("/<id>", "cancel", "DELETE"),
    ("/<id>/results", "results", "GET"),
    ("/<id>/errors", "errors", "GET"),
):
    batches.add_url_rule(f"/v1/batch{_path}", _view, lazily("sift.api.v1.batch", _view), methods=[_method])
for _path, _view, _method in (
    ("", "submit", "POST"),
    ("/<id>", "status", "GET"),
    ("/<id>", "cancel", "DELETE"),
    ("/<id>/errors", "errors", "GET"),
):
    batches.add_url_rule(
        f"/v2/batch/scrape{_path}", f"scrape_{_view}", lazily("sift.api.v2.batch", _view), methods=[_method]
    )
