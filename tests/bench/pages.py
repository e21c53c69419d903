"""The pages that are fetched, one asyncio process: `python -m tests.bench.pages ADDRESS PORT`.

/article/N is an article of 20 KB, each N another; /hostile/N a page on which an extractor works until it is stopped;
/robots.txt is missing. Every connection is closed after its answer.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from random import Random

SIZE = 20_000
VARIANTS = 64
WORDS = (
    "the of and to a in that is was he for it with as his on be at by had not are but from or have an they which one "
    "you were all her she there would their we him been has when who will no more if out so up said what its about "
    "than into them can only other time new some could these two may first then do any like my now over such our"
).split()


def article(seed: int) -> str:
    """Return an article with headings, links, code and a table, between a menu and a footer."""
    random = Random(seed)

    def words(count: int) -> str:
        return " ".join(random.choice(WORDS) for _ in range(count))

    menu = "".join(f'<li><a href="/menu/{number}">{words(2)}</a></li>' for number in range(40))
    parts: list[str] = []
    while sum(map(len, parts)) < SIZE - len(menu) - 1500:
        parts.append(f"<h2>{words(5).capitalize()}</h2>")
        parts += [
            f'<p>{words(60).capitalize()} <a href="/article/{random.random()}">{words(3)}</a>.</p>' for _ in "123"
        ]
        parts.append(f"<pre><code>{words(20)}\n    {words(8)}</code></pre>")
    return (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>{words(6)}</title>"
        f'<meta name=description content="{words(20)}"></head><body><nav><ul>{menu}</ul></nav>'
        f"<main><article><h1>{words(6)}</h1>{''.join(parts)}<table><tr><th>a<th>b<tr><td>1<td>2</table></article></main>"
        f"<footer><p>{words(40)}</p></footer></body></html>"
    )


def hostile(seed: int) -> str:
    """Return a page that costs trafilatura seconds and hundreds of megabytes."""
    return f"<html><body>{'<b>a</b>' * 200_000}<p>{seed}</p></body></html>"


def _response(status: str, body: str) -> bytes:
    data = body.encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(data)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + data


_ARTICLES = tuple(_response("200 OK", article(seed)) for seed in range(VARIANTS))
_HOSTILE = _response("200 OK", hostile(1))
_MISSING = _response("404 Not Found", "")


class Connection(asyncio.Protocol):
    """A connection for one request."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Answer once the head is there."""
        self._received += data
        if b"\r\n\r\n" not in self._received:
            return
        path = self._received.split(b" ", 2)[1]
        number = path.rpartition(b"/")[2]
        answer = _MISSING
        if path.startswith(b"/article/") and number.isdigit():
            answer = _ARTICLES[int(number) % VARIANTS]
        elif path.startswith(b"/hostile/"):
            answer = _HOSTILE
        self._transport.write(answer)
        self._transport.close()


async def serve(address: str, port: int) -> None:
    """Serve until the process ends."""
    gc.freeze()
    gc.disable()
    server = await asyncio.get_running_loop().create_server(Connection, address, port, backlog=1024)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], int(sys.argv[2])))
