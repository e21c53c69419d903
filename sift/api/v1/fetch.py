"""`POST /v1/fetch` (contract: Fetch)."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from flask import Response, g, request

from sift.api.body import parse_object, read_body
from sift.api.errors import json_response
from sift.api.fetch import run_fetch
from sift.api.services import services
from sift.fetch.answer import envelope
from sift.fetch.model import FetchRequest
from sift.fetch.schema import load_fetch, unknown_field_warnings

MEMO_BODY = 2048
"""Bytes; larger bodies are not memoised, which bounds the memory of the memo."""


class Reading(NamedTuple):
    """A parsed body: the request, and the warnings on it."""

    request: FetchRequest
    warnings: tuple[str, ...]


def fetch() -> Response:
    """Open one page."""
    reading = read(read_body(request.environ))
    page, is_cached = run_fetch(services(), g.caller, reading.request)
    return json_response(envelope(reading.request, page, reading.warnings, is_cached=is_cached))


def read(body: bytes) -> Reading:
    """Parse and validate a body. Raises InvalidJsonError, InvalidFetchError."""
    return (_read_memoised if len(body) <= MEMO_BODY else _read)(body)


def _read(body: bytes) -> Reading:
    payload = parse_object(body)
    return Reading(load_fetch(payload), unknown_field_warnings(payload))


# Agents repeat requests, and the result depends on nothing but the bytes.
_read_memoised = lru_cache(maxsize=512)(_read)
