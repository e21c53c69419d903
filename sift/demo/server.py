"""The loopback HTTP server of the demo. It logs nothing: every request contains a query."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any
from urllib.parse import parse_qsl

from sift.demo.index import Index
from sift.demo.standin import Request, StandIn

MAX_BODY = 1 << 20


class Server(ThreadingHTTPServer):
    """Serve stand-ins, by path, on an ephemeral port of 127.0.0.1, with a daemon thread per connection."""

    daemon_threads = True
    request_queue_size = 128  # the default of 5 drops connections in a burst

    def __init__(self, index: Index) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.index = index
        self.stand_ins: dict[str, StandIn] = {}

    @property
    def url(self) -> str:
        """Return the base URL, without a trailing slash."""
        return f"http://127.0.0.1:{self.server_port}"

    def server_bind(self) -> None:
        """Bind without the parent's reverse DNS query for this address."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.socket.getsockname()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: the client has disconnected, and a traceback could show its query."""


class Handler(BaseHTTPRequestHandler):
    """Speak HTTP/1.1 with keep-alive; the vendors' modules make the answers."""

    server: Server
    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # for request lines without a version: 0.9, the default, has no status line
    server_version = "sift-demo"
    sys_version = ""
    timeout = 300  # seconds after which a stalled client releases its thread
    wbufsize = -1  # head and body leave in one write
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Answer a GET or a POST; the path selects the stand-in."""
        body = self._body()
        if body is None:
            return self._send(413, {"error": "a body needs a Content-Length of at most 1 MiB"}, close=True)
        try:
            status, answered = self._answer(body)
        except Exception:  # the demo's outermost layer: a bug becomes a vendor's 500, not a broken connection
            status, answered = 500, {"error": "internal error"}
        return self._send(status, answered)

    do_POST = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def _answer(self, body: bytes) -> tuple[int, object]:
        path, _, query = self.path.partition("?")
        stand_in = self.server.stand_ins.get(path)
        if stand_in is None:
            return 404, {"error": "not found"}
        if self.command != stand_in.method:
            return 405, {"error": "method not allowed"}
        headers = {name.lower(): value for name, value in self.headers.items()}
        parameters = dict(parse_qsl(query, keep_blank_values=True))
        return stand_in.answer(self.server.index, Request(headers, parameters, body))

    def _body(self) -> bytes | None:
        """Return the request's body, or None when its length is unknown or too large."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdecimal() or len(length) > 9:
            return None
        return self.rfile.read(int(length)) if int(length) <= MAX_BODY else None

    def _send(self, status: int, answered: object, *, close: bool = False) -> None:
        """Send HTML for a string, and JSON for anything else."""
        is_html = isinstance(answered, str)
        payload = (answered if isinstance(answered, str) else json.dumps(answered)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8" if is_html else "application/json")
        self.send_header("Content-Length", str(len(payload)))
        if close:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(payload)


def serve(index: Index) -> Server:
    """Start a server for the index in a daemon thread."""
    server = Server(index)
    threading.Thread(target=server.serve_forever, args=(60,), name="sift-demo", daemon=True).start()
    return server
