"""What a server sends, as data: a list of steps, so that a test can hand it to a server in another process.

The bytes of a step are text in latin-1, because JSON carries it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Steps = list[dict[str, Any]]
Headers = Iterable[tuple[str, str]]
HTML = "text/html; charset=utf-8"
ARTICLE = (
    "The lighthouse keeper counted the ships that passed the rocks, and wrote their number into a book every evening."
)


def send(data: bytes) -> Steps:
    """Send these bytes as they are."""
    return [{"send": data.decode("latin-1")}]


def forever(data: bytes) -> Steps:
    """Send these bytes again and again, as fast as they are taken, until the client leaves."""
    return [{"forever": data.decode("latin-1")}]


def drip(data: bytes, every: float = 0.02) -> Steps:
    """Send these bytes one by one, with seconds between them, again and again, until the client leaves."""
    return [{"drip": data.decode("latin-1"), "every": every}]


def pause(seconds: float) -> Steps:
    """Wait, as a slow server does."""
    return [{"pause": seconds}]


def hold(gate: str) -> Steps:
    """Wait until the test opens this gate."""
    return [{"hold": gate}]


def stall() -> Steps:
    """Send nothing more, and wait until the client leaves."""
    return [{"stall": True}]


def head(kind: str | None = HTML, status: int = 200, headers: Headers = (), **framing: int) -> bytes:
    """Return a status line and headers. kind: the content type, None for none. framing: `length=n`."""
    lines = [f"HTTP/1.1 {status} Reason", *(f"{name}: {value}" for name, value in headers)]
    lines += [f"Content-Type: {kind}"] if kind is not None else []
    lines += [f"Content-Length: {framing['length']}"] if "length" in framing else []
    return "\r\n".join([*lines, "Connection: close"]).encode("latin-1") + b"\r\n\r\n"


def answer(
    body: bytes | str = b"",
    kind: str | None = HTML,
    status: int = 200,
    headers: Headers = (),
    length: int | None = None,
) -> Steps:
    """Answer with this body. length: the Content-Length, when it is not to be the true one."""
    data = body.encode() if isinstance(body, str) else body
    return send(head(kind, status, headers, length=len(data) if length is None else length) + data)


def html(text: str = ARTICLE, title: str = "The book of ships") -> str:
    """Return a small page that has something to read."""
    filler = "".join(f"<p>{text} Then the wind turned, and the {n} lamps were lit again.</p>" for n in range(3, 8))
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{title}</title></head>"
        f"<body><article><h1>{title}</h1>{filler}</article></body></html>"
    )


def article(text: str = ARTICLE, **more: Any) -> Steps:
    """Answer with a small page that has something to read."""
    return answer(html(text), **more)


def redirect(location: str | bytes, status: int = 302, more: Steps | None = None) -> Steps:
    """Send a client elsewhere. location: bytes go on the wire as they are. more: what follows the head."""
    raw = location if isinstance(location, bytes) else location.encode()
    end = b"" if more else b"Content-Length: 0\r\n"
    return send(b"HTTP/1.1 %d Reason\r\nLocation: %s\r\n%sConnection: close\r\n\r\n" % (status, raw, end)) + (
        more or []
    )
