"""The routes whose code is loaded with their first request, since most services never need it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from flask import Blueprint, Response

bp = Blueprint("opening", __name__)
"""Those that open pages."""
doors = Blueprint("doors", __name__)
"""Those of other programs' search APIs that open none."""
batches = Blueprint("batches", __name__)


def _lazily(module: str, view: str) -> Callable[..., Response]:
    def load_and_answer(**values: str) -> Response:
        answer: Response = getattr(import_module(module), view)(**values)
        return answer

    return load_and_answer


bp.add_url_rule("/v1/fetch", "fetch", _lazily("sift.api.v1.fetch", "fetch"), methods=["POST"])
bp.add_url_rule("/v2/scrape", "scrape", _lazily("sift.api.v2.scrape", "scrape"), methods=["POST"])
bp.add_url_rule("/tavily/extract", "extract", _lazily("sift.api.doors.tavily.extract", "extract"), methods=["POST"])
doors.add_url_rule("/tavily/search", "tavily", _lazily("sift.api.doors.tavily.search", "search"), methods=["POST"])

for _path, _view, _method in (
    ("", "submit", "POST"),
    ("", "listed", "GET"),
    ("/<id>", "status", "GET"),
    ("/<id>", "cancel", "DELETE"),
    ("/<id>/results", "results", "GET"),
    ("/<id>/errors", "errors", "GET"),
):
    batches.add_url_rule(f"/v1/batch{_path}", _view, _lazily("sift.api.v1.batch", _view), methods=[_method])
for _path, _view, _method in (
    ("", "submit", "POST"),
    ("/<id>", "status", "GET"),
    ("/<id>", "cancel", "DELETE"),
    ("/<id>/errors", "errors", "GET"),
):
    batches.add_url_rule(
        f"/v2/batch/scrape{_path}", f"scrape_{_view}", _lazily("sift.api.v2.batch", _view), methods=[_method]
    )
