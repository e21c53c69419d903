"""The door: every request but `/healthz` shows its key before anything of it is read (contract: Callers)."""

from __future__ import annotations

from flask import Flask, g, request
from werkzeug.exceptions import NotFound

from sift.api.services import services
from sift.errors import UnauthorizedError

OPEN = "/healthz"
CALLER = "sift.caller"
"""The place in the WSGI environ of a caller who has shown a key; no request can name it."""


def install(app: Flask) -> None:
    """Ask for the key before routing errors are told, so that unknown paths answer 401 too."""
    app.before_request(_identify)


def _identify() -> None:
    environ = request.environ
    path = environ.get("PATH_INFO", "")  # not request.path, where a doubled slash at the start is one
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
