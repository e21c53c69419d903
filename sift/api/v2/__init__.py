"""Firecrawl's search API, frozen: no feature of v1 may appear here."""

from flask import Blueprint

bp = Blueprint("v2", __name__, url_prefix="/v2")

from sift.api.v2 import search  # noqa: E402, F401
