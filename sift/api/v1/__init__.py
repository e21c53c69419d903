"""The native API."""

from flask import Blueprint

bp = Blueprint("v1", __name__, url_prefix="/v1")

from sift.api.v1 import plan, search, status, usage  # noqa: E402, F401
