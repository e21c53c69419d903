"""The fast path of cached searches: answered before Flask, whose dispatch costs more than everything else.

Any other request reaches the application unchanged.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sift.api.body import read_body
from sift.api.guard import CALLER
from sift.api.origin import is_foreign
from sift.api.search import record
from sift.api.services import Services
from sift.api.v1 import bp
from sift.api.v1.search import MEMO_BODY, PATH, envelope, read
from sift.errors import SiftError

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

ROUTE = f"{bp.url_prefix}{PATH}"


class CachedSearch:
    """WSGI middleware that answers cached searches and passes everything else to the application."""

    def __init__(self, app: WSGIApplication, services: Services) -> None:
        self._app = app
        self._services = services

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        if environ["REQUEST_METHOD"] == "POST" and environ["PATH_INFO"] == ROUTE:
            length = environ.get("CONTENT_LENGTH", "")
            if length.isdecimal() and int(length) <= MEMO_BODY and (found := self._find(environ)):
                start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(found)))])
                return (found,)
        return self._app(environ, start_response)

    def _find(self, environ: WSGIEnvironment) -> bytes | None:
        services = self._services
        if is_foreign(environ, checks_host=services.checks_host):
            return None  # the guard refuses it
        try:
            # Before the body is read. The guard reuses the result.
            caller = environ[CALLER] = services.identify(environ.get("HTTP_AUTHORIZATION"))
            reading = read(_peek(environ))
            answer = services.engine.cached(reading.request, caller.cls)
            if answer is None:
                return None
            found = envelope(answer, reading.queries, reading.warnings + services.notices)
            record(services, caller, reading.request, answer)
        except Exception:
            return None  # the application meets the same, and says in JSON what is wrong
        return found


def _peek(environ: WSGIEnvironment) -> bytes:
    """Read the body, and put it back for the application. Raises InvalidJsonError when it is truncated."""
    try:
        body = read_body(environ)
    except SiftError:
        environ["wsgi.input"] = io.BytesIO()  # the application finds it truncated, too
        raise
    environ["wsgi.input"] = io.BytesIO(body)
    return body
