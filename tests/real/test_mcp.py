"""`sift mcp` with the SDK's own clients of two versions, over both transports, and with the Inspector's command.

contract: MCP.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from tests.real.clients import Client, installed
from tests.real.conftest import Running
from tests.real.held import Hold
from tests.real.programs import SIFT, bearer
from tests.service import ROOT, Service
from tests.vendors import NAMES, reply
from tests.waiting import wait_for

HERMES = "1.26.0"
"""The SDK that Hermes 0.19 pins: it speaks the revision of 2025-11-25."""
LOWEST = "2.0.0"
"""The lowest that the extra admits, here for the server."""
CANARY = "canary-8e41"
PAGE = "https://docs.python.org/3/reference/compound_stmts.html"
LISTENING = re.compile(r"listening at (http://127\.0\.0\.1:\d+/mcp)\n")
INSPECTOR = "@modelcontextprotocol/inspector@0.15.0"


@pytest.fixture(scope="module", params=[HERMES, "newest"])
def sdk(request: pytest.FixtureRequest) -> Iterator[Client]:
    """Run each client in turn; the newest comes with the `test` extra."""
    path = None if request.param == "newest" else installed("mcp", request.param)
    found = Client(Path(__file__).with_name("mcp_driver.py"), path)
    assert path is None or found.version == request.param
    yield found
    found.close()


def environ_of(service: Service | None, token: str = "", **more: str) -> dict[str, str]:
    """Return all that a client's configuration gives the command."""
    url = service.url if service else "http://127.0.0.1:1"
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "SIFT_URL": url, "SIFT_TOKEN": token, **more}


class Server:
    """`sift mcp` over HTTP, until the `with` block ends."""

    def __init__(self, environ: dict[str, str], *arguments: str) -> None:
        self.process = subprocess.Popen(
            [SIFT, "mcp", "--http", "0", *arguments], env=environ, text=True, stderr=subprocess.PIPE
        )
        assert self.process.stderr
        first = self.process.stderr.readline()
        found = LISTENING.fullmatch(first)
        assert found, first
        self.url = found[1]

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def stop(self) -> str:
        """Tell it to stop, and return what it has printed since."""
        self.process.terminate()
        return self.process.communicate(timeout=20)[1]


class Raw:
    """`sift mcp` on stdio, spoken to line by line."""

    def __init__(self, environ: dict[str, str], revision: str = "2025-11-25") -> None:
        self.process = subprocess.Popen(
            [SIFT, "mcp"],
            env=environ,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        begin = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        self.send("initialize", begin, id=0)
        self.revision = self.read()["result"]["protocolVersion"]
        self.send("notifications/initialized")

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(20)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream
            stream.close()

    def send(self, method: str, params: dict[str, Any] | None = None, **more: Any) -> None:
        """Send a message: a request if it has an id."""
        assert self.process.stdin
        message = {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {}), **more}
        print(json.dumps(message), file=self.process.stdin, flush=True)

    def search(self, query: str, number: int) -> None:
        """Call the search."""
        self.send("tools/call", {"name": "sift_search", "arguments": {"query": query}}, id=number)

    def read(self) -> dict[str, Any]:
        """Return the next message."""
        assert self.process.stdout
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found


Session = Callable[..., dict[str, Any]]


@pytest.fixture(params=["stdio", "http"])
def session(request: pytest.FixtureRequest, sdk: Client, tmp_path: Path) -> Session:
    """Return a function that makes calls in one session, over each transport in turn; nothing else may be printed."""
    errlog = tmp_path / "stderr"

    def calls(service: Service | None, token: str, *asked: Any, revision: str = "handshake") -> dict[str, Any]:
        if request.param == "stdio":
            environ = environ_of(service, token)
            errlog.touch()
            found = sdk.call(calls=asked, revision=revision, command=[SIFT, "mcp"], env=environ, errlog=str(errlog))
            assert errlog.read_text() == ""
        else:
            with Server(environ_of(service, "sift_of_the_server")) as server:
                found = sdk.call(calls=asked, revision=revision, url=server.url, headers=bearer(token) if token else {})
                assert server.stop() == ""
        return found

    return calls


def text(answer: dict[str, Any]) -> str:
    """Return the one text of an answer."""
    (content,) = answer["content"]
    assert content["type"] == "text"
    return str(content["text"])


def test_client_lists_and_calls_the_tools(session: Session, running: Running, fresh: Callable[[], str]) -> None:
    """contract: MCP: text alone, with annotations, and no schema of an output."""
    wrong = ["sift_search", {"query": "x", "k": 99}]
    found = session(running.service, running.tokens.restricted, ["sift_search", {"query": fresh(), "k": "2"}], wrong)
    assert found["protocol"] == "2025-11-25"
    assert [tool["name"] for tool in found["tools"]] == ["sift_search", "sift_fetch", "sift_batch"]
    for tool in found["tools"]:
        assert tool["annotations"] == {"readOnlyHint": True, "openWorldHint": True}
        assert "outputSchema" not in tool
    good, refused = found["answers"]
    assert not good["isError"]
    assert "structuredContent" not in good
    assert text(good).startswith("1. Shared\nhttps://shared.example/page\nsearxng\nText.\n\n2. ")
    assert (refused["isError"], text(refused)) == (True, "Change `k`: a whole number from 1 to 50.")


def test_unknown_tool_is_an_error_of_the_protocol(session: Session, running: Running) -> None:
    """contract: MCP: JSON-RPC's, which does not repeat the name."""
    (found,) = session(running.service, running.tokens.restricted, [CANARY, {}])["answers"]
    assert (found["error"], found["message"]) == (-32602, "unknown tool; there are sift_search, sift_fetch, sift_batch")


def test_newest_revision_is_spoken(session: Session, sdk: Client, running: Running, fresh: Callable[[], str]) -> None:
    """contract: MCP: without a handshake, where the client knows how."""
    if sdk.version == HERMES:
        pytest.skip("this SDK speaks no newer revision")
    found = session(running.service, running.tokens.fleet, ["sift_search", {"query": fresh()}], revision="newest")
    assert found["protocol"] > "2025-11-25"
    assert text(found["answers"][0]).startswith("1. Shared\n")


def test_failures_are_said_in_a_sentence(session: Session, running: Running, fresh: Callable[[], str]) -> None:
    """contract: MCP: no key, sources that are down, a service that is not there."""
    call = ["sift_search", {"query": fresh()}]
    (unknown,) = session(running.service, "sift_abcdefgh_wrong", call)["answers"]
    (none,) = session(running.service, "", call)["answers"]
    for name in NAMES:
        running.vendors.behaviour[name] = reply(b"", 500)
    (down,) = session(running.service, running.tokens.fleet, call)["answers"]
    (away,) = session(None, running.tokens.fleet, call)["answers"]
    assert [each["isError"] for each in (unknown, none, down, away)] == [True] * 4
    assert text(unknown) == text(none)
    assert re.fullmatch(r"Unauthorized: .* must hold a valid key\.", text(unknown))
    assert text(down).startswith("No source answered: searxng: http 500; ")
    assert text(away).startswith("Sift cannot be reached: the connection was refused")


def test_pages_are_opened(session: Session, tmp_path: Path) -> None:
    """contract: MCP: a demo page needs no network."""
    with Service(tmp_path, {"SIFT_DEMO": "on"}) as service:
        asked = {"url": PAGE, "max_chars": "1000"}
        good, refused = session(service, "", ["sift_fetch", asked], ["sift_fetch", {"url": "http://10.0.0.1/"}])[
            "answers"
        ]
    assert "async def" in text(good)
    assert re.search(r"start=\d+ reads on\.\]$", text(good))
    assert (refused["isError"], text(refused).partition(":")[0]) == (True, "Not allowed")


def test_pages_of_a_batch_are_opened(sdk: Client, tmp_path: Path) -> None:
    """contract: MCP: in the order of the request, which may be a list in a string."""
    urls = [PAGE, "http://10.0.0.1/", "https://docs.python.org/3/library/textwrap.html"]
    with Service(tmp_path, {"SIFT_DEMO": "on"}) as service:
        environ, errlog = environ_of(service), str(tmp_path / "stderr")
        call = ["sift_batch", {"urls": json.dumps(urls), "max_chars": 1000}]
        (found,) = sdk.call(calls=[call], command=[SIFT, "mcp"], env=environ, errlog=errlog)["answers"]
    assert text(found).startswith("2 of 3 pages opened.\n\n1. ")
    assert re.search(r"^2\. http://10\.0\.0\.1/\nNot opened: not allowed", text(found), re.MULTILINE)
    assert re.search(r"^3\. .*\nhttps://docs\.python\.org/3/library/textwrap\.html\n", text(found), re.MULTILINE)


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_revision_of_an_older_client_is_spoken(running: Running, revision: str) -> None:
    """contract: MCP: as the client asks for it."""
    with Raw(environ_of(running.service), revision) as raw:
        assert raw.revision == revision


def test_nothing_of_a_call_is_printed_logged_or_in_a_title(sdk: Client, running: Running, tmp_path: Path) -> None:
    """contract: MCP: not even of one that no tool can take, or that is no message at all."""
    calls = [
        ["sift_search", {"query": CANARY, "k": CANARY}],
        ["sift_search", {"query": CANARY}],
        ["sift_fetch", {"url": f"https://{CANARY}.invalid/"}],
        [CANARY, {CANARY: CANARY}],
    ]
    errlog = tmp_path / "stderr"
    environ = environ_of(running.service, f"sift_{CANARY}")
    sdk.call(calls=calls, command=[SIFT, "mcp"], env=environ, errlog=str(errlog))
    environ = environ_of(running.service, running.tokens.restricted)
    with Raw(environ) as raw:
        assert raw.process.stdin
        raw.process.stdin.write(f"{CANARY}\n" + json.dumps({"jsonrpc": "2.0", "id": 5, "method": CANARY}) + "\n")
        raw.search(CANARY, 6)
        while raw.read().get("id") != 6:
            pass
        title = Path(f"/proc/{raw.process.pid}/cmdline").read_text()
        raw.process.stdin.close()
        raw.process.wait(20)
        assert raw.process.stderr
        printed = raw.process.stderr.read()
    with Server(environ) as server:
        headers = bearer(f"sift_{CANARY}") | {"X-Other": CANARY}
        sdk.call(calls=calls, url=server.url, headers=headers)
        title += Path(f"/proc/{server.process.pid}/cmdline").read_text()
        printed += server.stop()
    assert (errlog.read_text(), printed) == ("", "")
    assert CANARY not in title
    assert CANARY.encode() not in running.service.log()


def test_callers_over_http_have_their_own_keys(sdk: Client, running: Running, fresh: Callable[[], str]) -> None:
    """contract: MCP: caps and classes hold, and nobody gets the server's key."""
    before = len(running.service.records())
    with Server(environ_of(running.service, running.tokens.fleet)) as server:
        for token in (running.tokens.restricted, running.tokens.fleet):
            sdk.call(calls=[["sift_search", {"query": fresh()}]], url=server.url, headers=bearer(token))
        (none,) = sdk.call(calls=[["sift_search", {"query": fresh()}]], url=server.url)["answers"]
    wait_for(lambda: len(running.service.records()) == before + 2)
    callers = [record["caller"] for record in running.service.records()[before:]]
    assert callers == ["the restricted", "the fleet"]
    assert text(none) == "Unauthorized: the `Authorization: Bearer` header must hold a valid key."


@pytest.mark.parametrize(("host", "status"), [("localhost:1", 200), ("mcp.example", 200), ("evil.example", 421)])
def test_host_that_is_not_the_servers_is_refused(running: Running, host: str, status: int) -> None:
    """contract: MCP: else any web page could call the tools through a name of its own."""
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    command = ["curl", "-s", "-o", os.devnull, "-w", "%{http_code}", "-H", f"Host: {host}", "-d", json.dumps(ask)]
    command += ["-H", "Content-Type: application/json", "-H", "Accept: application/json, text/event-stream"]
    with Server(environ_of(running.service), "--allow-host", "mcp.example") as server:
        done = subprocess.run([*command, server.url], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout == str(status)


@pytest.mark.parametrize("end", ["eof", signal.SIGTERM, signal.SIGINT])
def test_end_of_the_client_ends_the_server_at_once(running: Running, end: Any, fresh: Callable[[], str]) -> None:
    """contract: MCP: although a search is under way."""
    hold = Hold()
    for name in NAMES:
        running.vendors.behaviour[name] = hold.behaviour(name)
    with Raw(environ_of(running.service, running.tokens.fleet)) as raw:
        raw.search(fresh(), 1)
        hold.wait(len(NAMES))
        if end == "eof":
            assert raw.process.stdin
            raw.process.stdin.close()
        else:
            raw.process.send_signal(end)
        code = raw.process.wait(20)
        assert not hold.release.is_set()
        hold.release.set()
        assert raw.process.stderr
        assert (code, raw.process.stderr.read()) == (0 if end == "eof" else -end, "")


def test_server_over_http_stops_at_once(running: Running, sdk: Client, fresh: Callable[[], str]) -> None:
    """contract: MCP: a call under way gets a second, and no more."""
    hold = Hold()
    for name in NAMES:
        running.vendors.behaviour[name] = hold.behaviour(name)
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sift_search"}}
    ask["params"] |= {"arguments": {"query": fresh()}}  # type: ignore[operator]
    with Server(environ_of(running.service)) as server:
        command = ["curl", "-s", "-d", json.dumps(ask), "-H", f"Authorization: Bearer {running.tokens.fleet}"]
        command += ["-H", "Content-Type: application/json", "-H", "Accept: application/json, text/event-stream"]
        with subprocess.Popen([*command, server.url], stdout=subprocess.DEVNULL) as curl:
            hold.wait(len(NAMES))
            assert server.stop() == ""
            assert not hold.release.is_set()
            assert server.process.returncode == -signal.SIGTERM
            curl.wait(20)
    hold.release.set()


def test_cancelled_call_gets_no_answer_and_others_go_on(running: Running, fresh: Callable[[], str]) -> None:
    """contract: MCP: `notifications/cancelled`."""
    hold = Hold()
    for name in NAMES:
        running.vendors.behaviour[name] = hold.behaviour(name)
    with Raw(environ_of(running.service, running.tokens.fleet)) as raw:
        raw.search(fresh(), 1)
        hold.wait(len(NAMES))
        raw.send("notifications/cancelled", {"requestId": 1})
        running.vendors.restore()
        raw.search(fresh(), 2)
        found = [raw.read()]
        hold.release.set()
        raw.send("ping", id=3)
        while found[-1]["id"] != 3:
            found.append(raw.read())
    answered = [each["id"] for each in found if "result" in each]
    assert answered == [2, 3]


def test_lowest_sdk_serves_the_same(sdk: Client, running: Running, tmp_path: Path, fresh: Callable[[], str]) -> None:
    """setup.cfg, mcp: the lower bound."""
    environ = environ_of(running.service, running.tokens.fleet, PYTHONPATH=str(installed("mcp", LOWEST)))
    call = ["sift_search", {"query": fresh()}]
    errlog = str(tmp_path / "stderr")
    found = sdk.call(calls=[call], command=[SIFT, "mcp"], env=environ, errlog=errlog)
    assert text(found["answers"][0]).startswith("1. Shared\n")


@pytest.fixture(scope="module")
def inspector() -> Path:
    """Return the Inspector's command, installed once for all runs."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("Node is not installed")
    path = ROOT / ".venv-mcp-inspector"
    done = path / "installed"
    if not done.exists():
        path.mkdir(exist_ok=True)
        command = [npm, "install", "--prefix", str(path), "--no-audit", "--no-fund", "--silent", INSPECTOR]
        try:
            tried = subprocess.run(command, capture_output=True, check=False, timeout=180)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{INSPECTOR} cannot be installed: npm does not end")
        if tried.returncode:
            pytest.skip(f"{INSPECTOR} cannot be installed")
        done.touch()
    return path / "node_modules/.bin/mcp-inspector"


def test_inspector_lists_and_calls(inspector: Path, running: Running, fresh: Callable[[], str]) -> None:
    """contract: MCP: the Inspector's command, a client in another language."""
    environ = environ_of(running.service, running.tokens.fleet)
    given = [each for name in ("SIFT_URL", "SIFT_TOKEN") for each in ("-e", f"{name}={environ[name]}")]
    command = [str(inspector), "--cli", *given, SIFT, "mcp", "--method"]

    def ask(*arguments: str) -> Any:
        done = subprocess.run(
            [*command, *arguments], env=environ, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert [tool["name"] for tool in ask("tools/list")["tools"]] == ["sift_search", "sift_fetch", "sift_batch"]
    found = ask("tools/call", "--tool-name", "sift_search", "--tool-arg", f"query={fresh()}", "--tool-arg", "k=1")
    assert text(found).startswith("1. Shared\n")


def test_extra_that_is_missing_is_named(running: Running) -> None:
    """contract: MCP: one line, and no traceback."""
    script = "import sys; sys.modules['mcp'] = None; sys.argv = ['sift', 'mcp']; from sift.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], env=environ_of(running.service), capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "sift: it needs the extra mcp: pip install 'sift-gateway[mcp]'\n"
