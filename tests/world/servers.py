"""HTTP servers on every address of a namespace, which do what a test says and remember what they saw."""

from __future__ import annotations

import itertools
import select
import socket
import ssl
import struct
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.world.certificates import LEAVES
from tests.world.dials import NOT_COUNTED
from tests.world.steps import Steps, answer, html

PLAIN_PORTS = (80, 6379, 8080, 8082)
TLS_PORT = 443
CLOSED_PORT = 8081
"""A port at which nobody listens."""
_MOST = 64 << 20  # bytes; no test lets a client read that much
_PATIENCE = 40  # seconds for anything a client has to do
_USUAL: dict[str, Steps] = {"/robots.txt": answer("none here", status=404)}


@dataclass
class Hit:
    """One connection. method: "" as long as no request has come. sent: bytes that the client's side has taken.

    began, ended: when the request came, and when the last byte of the answer left, in seconds of the monotonic clock.
    """

    address: str
    port: int
    method: str = ""
    target: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    sni: str = ""
    sent: int = 0
    over: bool = False
    began: float = 0.0
    ended: float = 0.0


class Servers:
    """Answer on all addresses of this network namespace.

    pages: for each host, as in the Host header without a port, its paths and what they answer. Where nothing is said,
    robots.txt is missing, and each other path is a page that has `words` in it.
    stalled: addresses at which a TLS handshake is never answered; a value is what is sent instead, byte by byte.
    """

    def __init__(self, certificates: Path, words: str) -> None:
        self.pages: dict[str, dict[str, Steps]] = {}
        self.stalled: dict[str, Steps] = {}
        self._usual = {"": answer(html(words, words)), **_USUAL}
        self._hits: list[Hit] = []
        self._gates: dict[str, threading.Event] = {}
        self._waiting: dict[str, int] = {}
        self._lock = threading.Lock()
        self._moved = threading.Condition(self._lock)
        self._fences: dict[int, threading.Event] = {}
        self._certificates = certificates
        self._contexts = {name: _context(certificates / f"leaf-{name}.pem") for name in LEAVES}

    def listen(self) -> None:
        """Answer from now on, in threads."""
        for port in (*PLAIN_PORTS, TLS_PORT):
            listener = socket.create_server(("::", port), family=socket.AF_INET6, backlog=512, dualstack_ipv6=True)
            threading.Thread(target=self._accept, args=(listener, port), daemon=True).start()

    # --- what a test asks for ---

    def hits(self) -> list[dict[str, Any]]:
        """Return what was seen, once all that has come is dealt with; requests at a gate stay there."""
        for port in (*PLAIN_PORTS, TLS_PORT):  # whoever came before the fence has been noticed when it has
            with socket.socket() as fence:
                fence.bind((NOT_COUNTED, 0))
                noticed = self._fences[fence.getsockname()[1]] = threading.Event()
                fence.connect(("127.0.0.1", port))
                noticed.wait(10)
        with self._moved:
            self._moved.wait_for(lambda: self._busy() <= 0, 20)
            return [asdict(hit) for hit in self._hits]

    def forget(self) -> None:
        """Forget what was seen so far."""
        with self._lock:
            self._hits = [hit for hit in self._hits if not hit.over]

    def waiting(self, gate: str) -> int:
        """Return how many requests wait at a gate."""
        with self._lock:
            return self._waiting.get(gate, 0)

    def open(self, gate: str) -> None:
        """Let the requests at a gate go on, those to come as well."""
        self._gate(gate).set()

    def _busy(self) -> int:
        return sum(not hit.over for hit in self._hits) - sum(self._waiting.values())

    def _gate(self, name: str) -> threading.Event:
        with self._lock:
            return self._gates.setdefault(name, threading.Event())

    # --- connections ---

    def _accept(self, listener: socket.socket, port: int) -> None:
        while True:
            connection, client = listener.accept()
            if fence := self._fences.pop(client[1], None):
                fence.set()
                connection.close()
                continue
            hit = Hit(connection.getsockname()[0].removeprefix("::ffff:"), port)
            with self._lock:
                self._hits.append(hit)
            threading.Thread(target=self._serve, args=(connection, hit), daemon=True).start()

    def _serve(self, connection: socket.socket, hit: Hit) -> None:
        with suppress(OSError, ValueError):
            connection.settimeout(_PATIENCE)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32 << 10)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if hit.port != TLS_PORT:
                self._answer(connection, hit)
            elif hit.address in self.stalled:
                self._play(connection, hit, self.stalled[hit.address])
            else:
                connection = self._front(hit).wrap_socket(connection, server_side=True)
                self._answer(connection, hit)
        connection.close()
        with self._moved:
            hit.over = True
            self._moved.notify_all()

    def _front(self, hit: Hit) -> ssl.SSLContext:
        """Return a context that shows the certificate of the name that the client asks for, and notes that name."""

        def choose(connection: Any, name: str | None, _: ssl.SSLContext) -> None:
            if name:
                hit.sni = name
                connection.context = self._contexts.get(name.partition("-")[0], self._contexts["good"])

        front = _context(self._certificates / "leaf-literal.pem")
        front.sni_callback = choose
        return front

    def _answer(self, connection: socket.socket, hit: Hit) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            piece = connection.recv(65536)
            if not piece:
                return
            data += piece
        first, *lines = data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        method, hit.target, _ = first.split(" ")
        hit.headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        hit.method = method
        hit.began = time.monotonic()
        host = dict(hit.headers).get("host", "")
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        pages, path = self.pages.get(name, {}), hit.target.partition("?")[0]
        for known in (pages.get(hit.target), pages.get(path), self._usual.get(path), pages.get("*"), self._usual[""]):
            if known is not None:
                self._play(connection, hit, known)
                return

    def _play(self, connection: socket.socket, hit: Hit, steps: Steps) -> None:
        for step in steps:
            if "send" in step:
                self._send(connection, hit, step["send"].encode("latin-1"))
            elif "forever" in step:
                data = step["forever"].encode("latin-1")
                while hit.sent < _MOST:
                    self._send(connection, hit, data)
            elif "drip" in step:
                data = step["drip"].encode("latin-1")
                for at in itertools.count():
                    if _has_left(connection, step["every"]):
                        break
                    self._send(connection, hit, data[at % len(data) :][:1])
            elif "pause" in step:
                _has_left(connection, step["pause"])
            elif "hold" in step:
                self._wait(step["hold"])
            elif "stall" in step:
                _has_left(connection, _PATIENCE)
            elif "reset" in step:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
        if isinstance(connection, ssl.SSLSocket):
            connection.settimeout(2)
            connection.unwrap()
        else:
            connection.shutdown(socket.SHUT_WR)
            _has_left(connection, 2)  # closed at once, with bytes unread, the end would be a reset

    def _send(self, connection: socket.socket, hit: Hit, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            done = connection.send(rest[: 64 << 10])
            hit.sent += done
            hit.ended = time.monotonic()
            rest = rest[done:]

    def _wait(self, name: str) -> None:
        gate = self._gate(name)
        self._count(name, 1)
        gate.wait(_PATIENCE)
        self._count(name, -1)

    def _count(self, name: str, change: int) -> None:
        with self._moved:
            self._waiting[name] = self._waiting.get(name, 0) + change
            self._moved.notify_all()


def _context(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def _has_left(connection: socket.socket, seconds: float) -> bool:
    """Wait for the client to leave, at most so long; return whether it has. What it sends meanwhile is lost."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        readable, _, _ = select.select([connection], [], [], left)
        if readable and not connection.recv(65536):
            return True
    return False
