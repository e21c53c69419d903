"""`GET /v1/usage` (contract: Usage)."""

from __future__ import annotations

import re

from flask import Response, g, request

from sift.api.errors import json_response, refuse
from sift.api.services import services

MAX_DAYS = 90
DEFAULT_DAYS = 30
_DAYS = re.compile(r"[1-9][0-9]?")


def usage() -> Response:
    """Return what was used, by day and source, of all workers."""
    if g.caller.cls != "fleet":
        return refuse(403, "forbidden", hint="class")
    asked = request.args.get("days", str(DEFAULT_DAYS))
    if not _DAYS.fullmatch(asked) or int(asked) > MAX_DAYS:
        return refuse(400, "invalid usage", hint="days")
    found = services().usage(int(asked))
    if found is None:
        return refuse(503, "usage unavailable")
    return json_response({"days": list(found)})
