"""Authentication before anything of a request is read; only `/healthz` is open (contract: Callers)."""

from __future__ import annotations

from flask import Flask, g, request
from werkzeug.exceptions import NotFound

from sift.api.services import services
from sift.errors import UnauthorizedError

OPEN = "/healthz"
CALLER = "sift.caller"
"""The WSGI environ key of a caller already authenticated; no request header can set it."""


def install(app: Flask) -> None:
    """Authenticate before routing errors are raised, so that unknown paths also answer 401."""
    app.before_request(_identify)


def _identify() -> None:
    environ = request.environ
    path = environ.get("PATH_INFO", "")  # not request.path, which collapses leading slashes
    if path == OPEN:
        return
    if CALLER in environ:
        g.caller = environ[CALLER]
        return
    parts = services()
    try:
        g.caller = parts.identify(environ.get("HTTP_AUTHORIZATION"))
    except UnauthorizedError:
        parts.refused(environ.get("REMOTE_ADDR", ""))
        raise
    if path.startswith("//"):
        raise NotFound
