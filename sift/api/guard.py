"""What is checked before anything else is done: a request's origin and its key (contract: Callers, Origins)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Flask, Response, g, request
from werkzeug.exceptions import NotFound

from sift.api import page
from sift.api.body import key_in_body
from sift.api.errors import TAVILY, refuse_origin
from sift.api.origin import is_foreign
from sift.api.services import Services, services
from sift.auth.caller import Caller
from sift.errors import UnauthorizedError

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

OPEN = ("/healthz", "/readyz")
CALLER = "sift.caller"
"""The WSGI environ key of a caller already authenticated; no request header can set it."""


def install(app: Flask) -> None:
    """Authenticate before routing errors are raised, so that unknown paths also answer 401."""
    app.before_request(_identify)


def _identify() -> Response | None:
    environ = request.environ
    path = environ.get("PATH_INFO", "")  # not request.path, which collapses leading slashes
    if path in OPEN or (path in page.FILES and services().page):
        return None  # also to a browser that follows a link from elsewhere
    if CALLER in environ:
        g.caller = environ[CALLER]
        return None
    parts = services()
    if is_foreign(environ, checks_host=parts.checks_host):
        return refuse_origin()
    try:
        g.caller = _caller(parts, environ, path)
    except UnauthorizedError:
        parts.refused(environ.get("REMOTE_ADDR", ""))
        raise
    if path.startswith("//"):
        raise NotFound
    return None


def _caller(parts: Services, environ: WSGIEnvironment, path: str) -> Caller:
    """Return the caller of a request. Raises UnauthorizedError."""
    shown = environ.get("HTTP_AUTHORIZATION")
    try:
        return parts.identify(shown)
    except UnauthorizedError:
        if shown is not None or not path.startswith(TAVILY) or (key := key_in_body(environ)) is None:
            raise
    return parts.identify(f"Bearer {key}")
