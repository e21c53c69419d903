"""Vendors that misbehave: every fault by name, with the warning it must cause."""

from __future__ import annotations

import gzip
import json
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import cycle
from typing import Any, NamedTuple

from tests.vendors import BODIES, NAMES, WIRES, Behaviour, Seen, Vendors, hit, reply, usual

WORDS = "vendor-words"
"""Text of vendors' error messages, which must appear in no answer and no log."""
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
TWICE = CHUNKED.replace(b"chunked", b"chunked\r\nTransfer-Encoding: chunked")
PACKED = HEAD + b"Content-Encoding: gzip\r\n\r\n"
LINES = b"X-A: b\r\n" * 9000
EMPTY = b"\x00\x00\x00\xff\xff"
"""An empty block of a compressed stream."""


class Fault(NamedTuple):
    """One fault.

    make: maps a vendor's name to its behaviour. warning: what follows `<source>: `; None if the fault is tolerated and
    the vendor's hits are kept. note: a note that is due then. cacheable: False if the answer is too large to cache.
    heavy: so expensive to process that it should not run beside others. at: the vendors that show it; by default one,
    a different one for each fault, since the code that meets the fault is common to all.
    """

    make: Callable[[str], Behaviour]
    warning: str | None = None
    note: str = ""
    cacheable: bool = True
    heavy: bool = False
    at: tuple[str, ...] = ()


class Stage:
    """Assigns a behaviour to each pair of query and vendor, so that independent faults run in parallel on one service.

    busy: the number of calls that vendors are handling now.
    """

    def __init__(self, vendors: Vendors) -> None:
        self.vendors = vendors
        self.plans: dict[tuple[str, str], Behaviour] = {}
        self.busy = 0
        self._lock = threading.Lock()
        vendors.behaviour = dict.fromkeys(NAMES, self._behave)

    def _behave(self, connection: socket.socket, seen: Seen) -> object:
        behave = self.plans.get((query_of(seen), seen.vendor)) or usual(seen.vendor)
        with self._lock:
            self.busy += 1
        try:
            return behave(connection, seen)
        finally:
            with self._lock:
                self.busy -= 1

    def calls(self, query: str, vendor: str) -> int:
        """Count the calls of a vendor for a query."""
        return sum(query_of(seen) == query for seen in self.vendors.calls(vendor))


def query_of(seen: Seen) -> str:
    """Return the query in a vendor's request."""
    query: str = seen.json()["query"] if seen.method == "POST" else seen.parameters["q"]
    return query


def own_url(vendor: str) -> str:
    """Return the URL that only this vendor finds."""
    return f"https://{vendor.replace('_', '-')}.example/page"


def good(vendor: str, more: Iterable[dict[str, Any]] = ()) -> dict[str, Any]:
    """Build a good answer."""
    own = hit(own_url(vendor), f"From {vendor}")
    return BODIES[vendor]([own, hit("https://shared.example/page", "Shared"), *more])


def rows_of(vendor: str, body: dict[str, Any]) -> Any:
    """Return the list of results in an answer."""
    found: Any = body
    for name in WIRES[vendor].rows:
        found = found[name]
    return found


def with_rows(vendor: str, rows: object) -> dict[str, Any]:
    """Build an answer with any value in place of the list of results."""
    body = rows
    for name in reversed(WIRES[vendor].rows):
        body = {name: body}
    assert isinstance(body, dict)
    return body


# --- behaviours ----------------------------------------------------------------------------------------------------


def raw(*pieces: bytes, keep: bool = False) -> Behaviour:
    """Send bytes, then close the connection, or leave it open."""

    def behave(connection: socket.socket, seen: Seen) -> bool:
        connection.sendall(b"".join(pieces))
        return keep

    return behave


def gone(connection: socket.socket, within: float) -> bool:
    """Wait, and return whether the client has closed the connection in the meantime."""
    readable, _, _ = select.select([connection], [], [], within)
    return bool(readable) and connection.recv(1) == b""


HELD = 20
"""Seconds that a vendor holds a connection; an answer that comes sooner did not wait for the vendor."""


def silent(connection: socket.socket, seen: Seen) -> None:
    """Never answer; wait until the client goes away."""
    gone(connection, HELD)


def after(start: bytes, then: bytes = b"", pause: float = 0.05) -> Behaviour:
    """Send `start`, then `then` again and again until the client goes away."""

    def behave(connection: socket.socket, seen: Seen) -> None:
        connection.sendall(start)
        for _ in range(int(HELD / pause)):
            if gone(connection, pause):
                return
            connection.sendall(then)

    return behave


def late(seconds: float) -> Callable[[str], Behaviour]:
    """Send a good answer after a while."""

    def make(vendor: str) -> Behaviour:
        def behave(connection: socket.socket, seen: Seen) -> object:
            return not gone(connection, seconds) and usual(vendor)(connection, seen)

        return behave

    return make


def reset(start: bytes = b"") -> Behaviour:
    """Send `start`, then reset the connection."""

    def behave(connection: socket.socket, seen: Seen) -> None:
        connection.sendall(start)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return behave


def endless(start: bytes, piece: bytes, pieces: int = 4096) -> Behaviour:
    """Send far more than any limit, as fast as the client reads."""

    def behave(connection: socket.socket, seen: Seen) -> None:
        connection.sendall(start)
        for _ in range(pieces):
            connection.sendall(piece)

    return behave


@lru_cache
def bomb() -> bytes:
    """Return 64 MiB of blanks, compressed."""
    return gzip.compress(b" " * (64 << 20), 6)


def encoded(vendor: str) -> bytes:
    """Return a good answer as JSON."""
    return json.dumps(good(vendor)).encode()


def counted(body: bytes, length: object, *headers: bytes) -> bytes:
    """Build a complete 200 with any value as its Content-Length."""
    return (
        HEAD + b"".join(h + b"\r\n" for h in (*headers, b"Content-Length: %b" % str(length).encode())) + b"\r\n" + body
    )


def chunk(data: bytes) -> bytes:
    """Build one chunk."""
    return b"%x\r\n%b\r\n" % (len(data), data)


# --- the matrix ----------------------------------------------------------------------------------------------------

_STATUSES = [
    *(201, 202, 204, 206),
    *range(400, 505),
    *(599, 999),
]
_RETRY_AFTER = {
    429: "Wed, 21 Oct 2026 07:28:00 GMT",
    500: "99999999999999999999",
    502: "",
    503: "-1",
    504: "soon",
}
_ODD_RETRY_AFTER = {
    "huge day": "Mon, 1 Jan 2026 99999999999:00:00 GMT",
    "huge year": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
    "huge zone": "Mon, 01 Jan 2026 00:00:00 +99999999999",
    "superscript": "\xb2",
    "exponent": "1e9",
    "words": ",;:",
    "digits": "9" * 4000,
}


def faults(trap: int = 9) -> Mapping[str, Fault]:
    """Return every fault by name; redirects lead to the port of a trap."""
    words = {"error": WORDS}
    found: dict[str, Fault] = {}

    def add(name: str, make: Callable[[str], Behaviour], warning: str | None = None, **more: Any) -> None:
        found[name] = Fault(make, warning, **more)

    def always(behaviour: Behaviour) -> Callable[[str], Behaviour]:
        return lambda _: behaviour

    # Connections.
    add("silent", always(silent), "timeout")
    add("head dripped", always(after(HEAD, b"X-A: b\r\n")), "timeout")
    add("status line dripped", always(after(b"H", b"T")), "timeout")
    add("head and then nothing", always(after(HEAD)), "timeout")
    add("body dripped", always(after(HEAD + b"Content-Length: 5000\r\n\r\n", b" ")), "timeout")
    add("body dripped without a length", always(after(HEAD + b"\r\n{", b" ")), "timeout")
    add("chunks dripped", always(after(CHUNKED, chunk(b" "))), "timeout")
    add("body and then nothing", lambda v: after(counted(encoded(v)[:-1], len(encoded(v)))), "timeout")
    add("last chunk missing", lambda v: after(CHUNKED + chunk(encoded(v))), "timeout")
    add(
        "continue without an end",
        always(after(b"HTTP/1.1 100 Continue\r\n\r\n" * 9, b"HTTP/1.1 100 Continue\r\n\r\n")),
        "bad response",
    )
    add("unknown interim answer", lambda v: raw(b"HTTP/1.1 199 New\r\n\r\n", counted(encoded(v), len(encoded(v)))))
    add("protocol switched", always(raw(b"HTTP/1.1 101 Switching\r\n\r\n")), "http 101")
    add("slow, then fine", late(0.1))
    add("slower than its timeout", late(HELD), "timeout")
    add("cut before a byte", always(raw()), "unreachable")
    add("reset before a byte", always(reset()), "unreachable")
    add("cut in the status line", always(raw(b"HTTP/1.1 2")), "unreachable")
    add("another protocol", always(raw(b"SSH-2.0-OpenSSH_9.2\r\n")), "unreachable")
    add("cut in the head", always(raw(HEAD + b"Content-Le")), "bad response")
    add("cut after the head", always(raw(HEAD + b"Content-Length: 20\r\n\r\n")), "bad response")
    add("cut in the body", lambda v: raw(counted(encoded(v)[:40], len(encoded(v)))), "bad response")
    add("reset in the body", lambda v: reset(counted(encoded(v)[:40], len(encoded(v)))), "bad response")
    add("cut without a length", lambda v: raw(HEAD + b"\r\n" + encoded(v)[:-9]), "bad response")
    add("cut in a chunk", lambda v: raw(CHUNKED + chunk(encoded(v))[:-9]), "bad response")
    add("chunk of no size", lambda v: raw(CHUNKED + b"zz\r\n" + encoded(v)), "bad response")
    add("closed after a whole answer", lambda v: raw(counted(encoded(v), len(encoded(v)))))
    add("whole answer without a length", lambda v: raw(HEAD + b"\r\n" + encoded(v)))
    add("old protocol", lambda v: raw(b"HTTP/1.0 200 OK\r\n\r\n" + encoded(v)))
    add("no reason phrase", lambda v: raw(counted(encoded(v), len(encoded(v))).replace(b"200 OK", b"200")))
    add(
        "continue first",
        lambda v: raw(b"HTTP/1.1 100 Continue\r\n\r\n", counted(encoded(v), len(encoded(v))), keep=True),
    )
    add("chunked", lambda v: raw(CHUNKED, chunk(encoded(v)), b"0\r\n\r\n", keep=True))
    add(
        "two hundred headers",
        lambda v: raw(HEAD + b"".join(b"X-%d: y\r\n" % n for n in range(200)) + b"\r\n"),
        "bad response",
    )
    add("header of 100 kB", lambda v: raw(HEAD + b"X: " + b"y" * 100_000 + b"\r\n\r\n"), "bad response")
    add("chunked twice", lambda v: raw(TWICE, chunk(encoded(v)), b"0\r\n\r\n", keep=True))
    add("unknown transfer encoding", always(after(HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n")), "bad response")
    add("tiny chunks without an end", always(endless(CHUNKED, chunk(b"  ") * 9000)), "bad response")
    add("trailers without an end", lambda v: endless(CHUNKED + chunk(encoded(v)) + b"0\r\n", LINES), "bad response")
    add("headers without an end", always(endless(HEAD, LINES)), "bad response")
    # Lengths.
    add("length too long, then closed", lambda v: raw(counted(encoded(v), 10**6)), "bad response")
    add("length too short", lambda v: raw(counted(encoded(v), 30), keep=True), "bad response")
    add("length is a word", lambda v: raw(counted(encoded(v), "many")))
    add("length below zero", lambda v: raw(counted(encoded(v), -5)))
    add("two lengths", lambda v: raw(counted(encoded(v), 30, b"Content-Length: 40")), "bad response")
    add("bytes after the body", lambda v: raw(counted(encoded(v), len(encoded(v))) + b"x" * 50_000, keep=True))
    add("a second answer after the body", lambda v: raw(counted(encoded(v), len(encoded(v))) + _foreign(v), keep=True))
    # Statuses.
    for status in (300, 301, 302, 303, 304, 305, 307, 308, 399):
        there = [("Location", f"http://127.0.0.1:{trap}/{status}"), ("Set-Cookie", "a=b")]
        add(f"status {status}", always(reply(b"" if status == 304 else words, status, there)), "redirect refused")
    for status in _STATUSES:
        odd = [("Retry-After", _RETRY_AFTER[status])] if status in _RETRY_AFTER else []
        add(f"status {status}", always(reply(b"" if status == 204 else words, status, odd)), f"http {status}")
    for name, value in _ODD_RETRY_AFTER.items():
        add(f"429, retry after {name}", always(reply(words, 429, [("Retry-After", value)])), "http 429")
    # Bodies.
    for name, body in {
        "html": b"<!doctype html><title>" + WORDS.encode() + b"</title>",
        "empty": b"",
        "blank": b" \r\n",
        "list": b"[]",
        "number": b"5",
        "null": b"null",
        "true": b"true",
        "string": json.dumps(WORDS).encode(),
        "empty object": b"{}",
        "error with 200": json.dumps(words).encode(),
        "python": b"{'results': []}",
        "deep": b'{"results":' + b"[" * 200_000,
        "deep and whole": b'{"results":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        "deep objects": b'{"a":' * 200_000,
        "utf-16": json.dumps({"results": []}).encode("utf-16"),
        "latin-1": '{"results": [{"url": "https://a.example/\xe9"}], "grounding": {"generic": []}}'.encode("latin-1"),
        "zeros": bytes(5000),
    }.items():
        add(f"body {name}", always(reply(body)), "bad response", at=NAMES if name in _PARSED else ())
    add("body cut", lambda v: reply(encoded(v)[:-1]), "bad response")
    add("body twice", lambda v: reply(encoded(v) * 2), "bad response")
    for name, rows in {"null": None, "object": {"0": {}}, "number": 5, "text": WORDS, "false": False}.items():
        add(f"results {name}", lambda v, rows=rows: reply(with_rows(v, rows)), "bad response", at=NAMES)
    add("generic missing", lambda v: reply({"grounding": None, "results": None}), "bad response", at=NAMES)
    add("five megabytes", always(endless(HEAD + b"\r\n", b" " * 65_536, 80)), "response too large")
    add(
        "length of five megabytes",
        always(endless(HEAD + b"Content-Length: 5242880\r\n\r\n", b" " * 65_536, 80)),
        "response too large",
    )
    add("endless chunks", always(endless(CHUNKED, chunk(b" " * 65_536))), "response too large")
    # Encodings.
    add("gzip", lambda v: _compressed(gzip.compress(encoded(v))))
    add("gzip bomb", lambda v: _compressed(bomb()), "response too large", heavy=True)
    add("gzip of two members", lambda v: _compressed(gzip.compress(encoded(v)[:9]) + gzip.compress(encoded(v)[9:])))
    add("gzip without contents", always(endless(PACKED + gzip.compress(b"")[:10], EMPTY * 9000)), "bad response")
    add("gzip cut", lambda v: _compressed(gzip.compress(encoded(v))[:-12]), "bad response")
    add("gzip that is none", lambda v: _compressed(encoded(v)), "bad response")
    add("encoding not asked for", lambda v: reply(encoded(v), headers=[("Content-Encoding", "br")]), "bad response")
    add("byte order mark", lambda v: reply(b"\xef\xbb\xbf" + encoded(v)))
    add("wrong charset", lambda v: reply(encoded(v), headers=[("Content-Type", "text/html; charset=utf-16")]))
    # Fields.
    add("odd rows first", lambda v: reply(with_rows(v, [*_ODD_ROWS, *rows_of(v, good(v))])), at=NAMES)
    add("odd rows last", lambda v: reply(with_rows(v, [*rows_of(v, good(v)), *_ODD_ROWS, *_ODD_ROWS])), at=NAMES)
    add("odd scores", lambda v: reply(_scored(v)), at=NAMES)
    add(
        "numbers of 5,000 digits",
        lambda v: reply(json.dumps(good(v, [_BIG]) | {"n": "@"}).replace('"@"', "9" * 5000).encode()),
        at=NAMES,
    )
    add(
        "halves of surrogate pairs",
        lambda v: reply(
            good(
                v,
                [
                    hit("https://s.example/\ud800", "a\udc00", "\ud800"),
                    hit("https://t.example/", "a\udc00b", "\ud800x", date="2026\udfff"),
                ],
            )
        ),
        at=NAMES,
    )
    add(
        "control characters",
        lambda v: reply(good(v, [hit("https://c.example/", "\x00\x1b[31m\u202e", "\x07\u2066", date="\x00")])),
        at=NAMES,
    )
    add(
        "unknown fields",
        lambda v: reply(good(v) | {"": {}, "x" * 5000: [[]] * 50, "answers": 5, "query": None}),
        at=NAMES,
    )
    add(
        "ten thousand hits",
        lambda v: reply(good(v, [hit(f"https://h{n}.example/{n}") for n in range(10_000)])),
        heavy=True,
        at=NAMES,
    )
    add(
        "titles of a megabyte",
        lambda v: reply(
            good(v, [hit("https://t.example/", "T" * 1_000_000), hit("https://u.example/", "<&" * 300_000)])
        ),
        heavy=True,
    )
    add(
        "texts of a megabyte",
        lambda v: reply(
            good(v, [hit("https://t.example/", "T", "T" * 1_000_000), hit("https://u.example/", "U", "<p>" * 300_000)])
        ),
        cacheable=False,
        heavy=True,
        at=NAMES,
    )
    add(
        "host of a thousand letters",
        lambda v: reply(good(v, [hit(f"https://{''.join(map(chr, range(0x4E00, 0x4E00 + 1000)))}.example/")] * 40)),
        heavy=True,
    )
    add(
        "address of a megabyte",
        lambda v: reply(good(v, [hit("https://a.example/?" + "a&" * 500_000)])),
        heavy=True,
    )
    add("cookies", lambda v: reply(good(v), headers=[("Set-Cookie", "id=1; Path=/"), ("Set-Cookie", "x")]))
    for name, engines in {"null": None, "text": "x", "object": {"a": 1}, "number": 7, "empty": []}.items():
        add(
            f"unresponsive engines {name}",
            lambda v, engines=engines: reply(good(v) | {"unresponsive_engines": engines}),
            at=("searxng",),
        )
    add(
        "unresponsive engines odd",
        lambda v: reply(good(v) | {"unresponsive_engines": [1, None, ["a"], {}, [WORDS, WORDS]]}),
        note="searxng: 5 engines unresponsive",
        at=("searxng",),
    )
    return found


def cells(found: Mapping[str, Fault]) -> list[tuple[str, str]]:
    """Return each fault's name with each vendor that shows it."""
    turns = cycle(NAMES)
    return [(name, vendor) for name, fault in found.items() for vendor in fault.at or (next(turns),)]


_PARSED = ("list", "number", "null", "true", "string", "empty object", "error with 200")
"""The bodies that are JSON, so that each vendor's own code refuses them."""
_ODD_URLS = [
    *(None, 5, "", ["https://x.example/"], {}, "http://[broken", "javascript:alert(1)", "//x.example/", "https://"),
    *("ftp://x.example/", "https:///x", "http://a b.example/", "http://x.example:99999/", "https://x\\y.example/"),
]
_ODD_ROWS: list[Any] = [
    *(None, 1, "x", [], {}, [[]], True),
    *({"url": url} for url in _ODD_URLS),
    {"url": "https://odd.example/", "title": {"a": 1}, "content": [1], "snippets": {"x": 1}, "score": {}},
    {"url": "https://odd.example/2", "title": None, "content": None, "snippets": [1, None, [], "x"]},
    {"url": "https://odd.example/3", "publishedDate": 5, "published_date": [], "title": 5, "content": True},
]
_BIG = hit("https://big.example/", "Big", "x", "@")  # type: ignore[arg-type]


def _scored(vendor: str) -> bytes:
    scores: list[Any] = [
        float("nan"),
        float("inf"),
        float("-inf"),
        "0.9",
        True,
        None,
        [],
        {},
        10**400,
        -(10**400),
        1e308,
    ]
    rows = [row | {"score": score} for score in scores for row in rows_of(vendor, good(vendor))]
    return json.dumps(with_rows(vendor, rows)).encode()


def _compressed(data: bytes) -> Behaviour:
    return reply(data, headers=[("Content-Encoding", "gzip")])


def _foreign(vendor: str) -> bytes:
    body = json.dumps(BODIES[vendor]([hit("https://foreign.example/", WORDS)])).encode()
    return counted(body + b" " * 20_000, len(body) + 20_000)
