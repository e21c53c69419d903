"""What is checked before anything of a request is read: its origin and its key (contract: Callers, Origins)."""

from __future__ import annotations

from flask import Flask, Response, g, request
from werkzeug.exceptions import NotFound

from sift.api.errors import refuse_origin
from sift.api.origin import is_foreign
from sift.api.services import services
from sift.errors import UnauthorizedError

OPEN = ("/healthz", "/readyz")
CALLER = "sift.caller"
"""The WSGI environ key of a caller already authenticated; no request header can set it."""


def install(app: Flask) -> None:
    """Authenticate before routing errors are raised, so that unknown paths also answer 401."""
    app.before_request(_identify)


def _identify() -> Response | None:
    environ = request.environ
    path = environ.get("PATH_INFO", "")  # not request.path, which collapses leading slashes
    if path in OPEN:
        return None
    if CALLER in environ:
        g.caller = environ[CALLER]
        return None
    parts = services()
    if is_foreign(environ, checks_host=parts.checks_host):
        return refuse_origin()
    try:
        g.caller = parts.identify(environ.get("HTTP_AUTHORIZATION"))
    except UnauthorizedError:
        parts.refused(environ.get("REMOTE_ADDR", ""))
        raise
    if path.startswith("//"):
        raise NotFound
    return None
