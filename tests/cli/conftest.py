"""A fake service on loopback, and the installed `sift` command in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sift.cli import main
from tests.cli.batches import Batches
from tests.cli.terminal import Open, Terminal

SIFT = str(Path(sys.executable).with_name("sift"))
ENVELOPE: dict[str, Any] = {
    "queries": ["x"],
    "results": [
        {
            "url": "https://a.example/1",
            "title": "One",
            "snippet": "first\n\nand more",
            "source": "searxng",
            "score": 0.05,
        },
        {
            "url": "https://b.example/2",
            "title": "Two",
            "snippet": "second",
            "source": "tavily",
            "score": 0.016,
            "published_date": "Mon, 28 Sep 2026 10:00:00 GMT",
        },
    ],
    "sources_ok": ["searxng", "tavily"],
    "sources_failed": ["brave_llm"],
    "warnings": ["brave_llm: timeout"],
    "cached": False,
    "sizes": {"hits": 3, "unique": 2, "results": 2},
}
PAGE: dict[str, Any] = {
    "url": "https://a.example/1",
    "final_url": "https://a.example/one",
    "status": 200,
    "content_type": "text/html",
    "title": "One",
    "published_date": "2026-09-28",
    "format": "markdown",
    "content": "# One\n\nfirst\n\n```\n\tcode  stays\n```",
    "chars": 34,
    "start": 0,
    "extractor": "trafilatura",
    "cached": False,
    "fetched_at": "2026-11-29T12:00:00Z",
    "sizes": {"wire": 300, "body": 900, "content": 34},
    "warnings": [],
}


@dataclass
class Service:
    """Answer every POST as the test says, and record the requests.

    pages: what answers a fetch until the test says otherwise. batches: what answers everything about batches.
    """

    status: int = 200
    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, Message, Any]] = field(default_factory=list)  # path, headers, body
    arrived: threading.Event = field(default_factory=threading.Event)
    may_answer: threading.Event = field(default_factory=threading.Event)
    url: str = ""
    pages: bytes | None = None
    batches: Batches = field(default_factory=Batches)

    def answers(self, payload: object, status: int = 200) -> None:
        self.status, self.content, self.pages = status, json.dumps(payload).encode(), None

    @property
    def body(self) -> Any:
        """The body of the last request."""
        return self.asked[-1][2]


def _handler(service: Service) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "null")
            service.asked.append((self.path, self.headers, body))
            service.arrived.set()
            service.may_answer.wait(30)
            status, content = service.status, service.content
            if self.path.startswith("/v1/batch"):
                answer = service.batches.answer(self.command, self.path, self.headers, body)
                if answer is None:
                    return  # the connection ends
                status, content = answer[0], json.dumps(answer[1]).encode()
            self.send_response(status)
            for name, value in service.headers.items():
                self.send_header(name, value)
            if self.path == "/v1/fetch" and service.pages is not None:
                content = service.pages
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_DELETE = do_POST  # noqa: N815 - the names http.server wants

        def log_message(self, *_: object) -> None:
            pass

    return Handler


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: the command was interrupted while it waited."""


@pytest.fixture
def service() -> Iterator[Service]:
    stub = Service()
    stub.answers(ENVELOPE)
    stub.pages = json.dumps(PAGE).encode()
    stub.may_answer.set()
    with _Server(("127.0.0.1", 0), _handler(stub)) as server:
        stub.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield stub
        stub.may_answer.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def environ(service: Service, tmp_path: Path) -> dict[str, str]:
    """Return the command's whole environment: nothing of the developer's reaches it."""
    return {
        "PATH": f"{Path(SIFT).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "SIFT_URL": service.url,
        "SIFT_TOKEN": "sift_abcdefgh_" + "s" * 43,
        "SIFT_KEYS_FILE": str(tmp_path / "state" / "keys.json"),
    }


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(environ: dict[str, str]) -> Run:
    """Run `sift` as a user does; keywords change the environment. No run may show a traceback."""

    def command(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [SIFT, *arguments], env=environ | changes, capture_output=True, timeout=60, check=False, encoding="utf-8"
        )
        assert "Traceback" not in done.stderr
        return done

    return command


@pytest.fixture
def open_terminal(environ: dict[str, str]) -> Iterator[Open]:
    """Return a function that starts `sift`, or another program, on a pseudo-terminal."""
    opened: list[Terminal] = []

    def start(*arguments: str, program: str = "sift", columns: int = 80, rows: int = 40, **changes: str) -> Terminal:
        opened.append(Terminal((program, *arguments), environ | {"TERM": "xterm-256color"} | changes, columns, rows))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.kill()


@pytest.fixture
def call(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Like `run`, but in this process: starting Python for each row of a table would take longer than the row."""

    def command(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr(sys, "argv", ["sift", *arguments])
        monkeypatch.setattr(os, "environ", environ | changes)
        with pytest.raises(SystemExit) as end:
            main()
        assert isinstance(end.value.code, int)
        out, err = capsys.readouterr()
        assert "internal error:" not in err
        return subprocess.CompletedProcess(arguments, end.value.code, out, err)

    return command
