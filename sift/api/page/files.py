"""Sending the files of the page (contract: Page)."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files

from flask import Response, request

_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    # Asked for anew each time, and mostly answered by a 304: the three files must be of one version.
    "Cache-Control": "no-cache",
}


def show(name: str) -> Response:
    """Return a file of the page, or that the browser's copy of it is still right."""
    body, tag = _read(name)
    response = Response(body, mimetype=_TYPES[name.rpartition(".")[2]], headers=_HEADERS)
    response.set_etag(tag)
    return response.make_conditional(request)  # type: ignore[return-value]


@cache
def _read(name: str) -> tuple[bytes, str]:
    body = (files("sift.api.page") / name).read_bytes()
    return body, sha256(body).hexdigest()[:16]
