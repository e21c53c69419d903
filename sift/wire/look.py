"""One GET whose answer counts whatever its status: for finding out what is at an address."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sift.errors import SourceError
from sift.wire.body import ACCEPT_ENCODING, parse_json, read_body
from sift.wire.call import Call
from sift.wire.dial import dial, is_own, tls_context
from sift.wire.endpoint import MAX_BODY, failure
from sift.wire.exchange import Exchange
from sift.wire.pool import Pool
from sift.wire.resolver import Resolver


class Seen(NamedTuple):
    """An answer. media_type: in lower case, without parameters."""

    status: int
    media_type: str
    body: bytes

    @property
    def is_html(self) -> bool:
        """Whether it calls itself a page."""
        return self.media_type in ("text/html", "application/xhtml+xml")

    def json(self) -> dict[str, Any]:
        """Return the JSON object that it is; an empty one when it is none."""
        try:
            found = parse_json(self.body)
        except SourceError:
            return {}
        return found if isinstance(found, dict) else {}


def look(url: str, headers: Mapping[str, str], *, deadline: float) -> Seen:
    """Ask once, over a connection of its own, and return the answer. Follows no redirect. Raises SourceError.

    deadline: of the whole call, in monotonic seconds.
    """
    parts = urlsplit(url)
    path = url[len(f"{parts.scheme}://{parts.netloc}") :]
    host, tls = (parts.hostname or "").rstrip("."), tls_context() if parts.scheme == "https" else None
    call = Call(deadline)
    pool = Pool(partial(dial, host, parts.port or (443 if tls else 80), resolver=Resolver(), tls=tls), 0)
    sent = {"Host": parts.netloc, "Accept-Encoding": ACCEPT_ENCODING, "Connection": "close", **headers}
    try:
        with Exchange(pool, call).urlopen("GET", path if path.startswith("/") else f"/{path}", None, sent) as reply:
            call.answered = True
            media_type = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
            return Seen(reply.status, media_type, read_body(reply, MAX_BODY))
    except (OSError, ValueError, zlib.error) as error:
        raise failure(error, call) from None  # its text may hold the URL


def is_here(address: str) -> bool:
    """Return whether an IP address is this host's own."""
    return is_own(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
