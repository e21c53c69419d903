"""Firecrawl's search contract, frozen: nothing of v1 may show here."""

from flask import Blueprint

bp = Blueprint("v2", __name__, url_prefix="/v2")

from sift.api.v2 import search  # noqa: E402, F401
