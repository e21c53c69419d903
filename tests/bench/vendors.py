"""The loopback vendors, one asyncio process: `python -m tests.bench.vendors PORT`.

They are cheap: bodies are encoded once, before the port opens. The path selects the vendor (/searxng/search,
/brave/res/v1/llm/context, /tavily/search) and the last word of the query selects the body, so that all vendors answer
a query from the same set of documents. /bench/set?brave=100 sets a vendor's latency in milliseconds, and /bench/calls
returns the number of calls so far.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from urllib.parse import parse_qsl
from zlib import crc32

from tests.bench.bodies import VENDORS, vendor_body

VARIANTS = 512
"""Different answers of each vendor; as on the web, they have more URLs than a memo can hold."""


class State:
    """The encoded answers, the latency of each vendor in seconds, and the calls so far."""

    def __init__(self) -> None:
        self.answers = {
            vendor: [_response(vendor_body(vendor, seed)) for seed in range(VARIANTS)] for vendor in VENDORS
        }
        self.latency = dict.fromkeys(VENDORS, 0.0)
        self.calls = 0

    def control(self, path: bytes, query: bytes) -> bytes:
        """Return the answer to a command of the benchmark."""
        if path == b"/bench/set":
            for vendor, milliseconds in parse_qsl(query.decode()):
                self.latency[vendor] = float(milliseconds) / 1000
        return _response(json.dumps({"calls": self.calls}).encode())


def _response(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


def _last_word(query: bytes, body: bytes) -> bytes:
    if body:
        text = str(json.loads(body)["query"]).encode()
    else:
        text = query.partition(b"q=")[2].partition(b"&")[0].replace(b"%20", b"+").replace(b"+", b" ")
    return text.rpartition(b" ")[2]


class Connection(asyncio.Protocol):
    """A connection that answers its client's requests, one after another."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._pending = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Receive part of a request; clients here send the next one only after the answer."""
        self._pending += data
        head, end, body = self._pending.partition(b"\r\n\r\n")
        if not end:
            return
        _, length_at, rest = head.lower().partition(b"\r\ncontent-length:")
        if length_at and len(body) < int(rest.split(b"\r\n", 1)[0]):
            return
        self._pending = b""
        path, _, query = head.split(b" ", 2)[1].partition(b"?")
        self._answer(path, query, body)

    def _answer(self, path: bytes, query: bytes, body: bytes) -> None:
        state, vendor = self._state, path[1:].split(b"/", 1)[0].decode()
        if vendor not in state.answers:
            self._transport.write(state.control(path, query))
            return
        state.calls += 1
        bodies = state.answers[vendor]
        answer = bodies[crc32(_last_word(query, body)) % len(bodies)]
        if delay := state.latency[vendor]:
            asyncio.get_running_loop().call_later(delay, self._send, answer)
        else:
            self._send(answer)

    def _send(self, answer: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(answer)


async def serve(port: int) -> None:
    """Serve until the process ends."""
    state = State()
    gc.freeze()
    gc.disable()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(state), "127.0.0.1", port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
