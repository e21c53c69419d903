"""No output and no file holds anything of a request, a vendor's key or a caller's token (contract: Log)."""

from __future__ import annotations

import ast
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sift.auth.keys import new_key
from tests.faults.behaviours import raw, silent
from tests.faults.callers import FIELDS, exchange, head
from tests.faults.nginx import BINARY, Nginx
from tests.faults.reviewed import REVIEWED, Spot
from tests.faults.watch import title, workers
from tests.service import ROOT, Service
from tests.vendors import BODIES, KEYS, NAMES, Behaviour, Vendors, for_all, hit, reply
from tests.waiting import wait_until

CANARY = "xqcanaryqx"
CANARY_FORMS = (CANARY.encode(), CANARY.upper().encode(), CANARY.encode().hex().encode())
VENDOR_KEYS = tuple(key.encode() for key in KEYS.values())
RESTRICTED = {"ts", "level", "event", "caller", "q_len", "sources", "n", "cache"}
FLEET = RESTRICTED | {"n_queries", "filters", "rerank_ms"}


class QuietService(Service):
    """A service on a port chosen here: at most log levels gunicorn does not print where it listens."""

    def start(self) -> Service:
        """Start, and return once a worker answers."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.command[self.command.index("127.0.0.1:0")] = f"127.0.0.1:{self.port}"
        with self.log_path.open("wb") as log:
            self.process = subprocess.Popen(
                self.command, cwd=ROOT, env=self.environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        if not wait_until(self._answers, 20):
            raise RuntimeError(self.log().decode(errors="replace"))
        return self

    def _answers(self) -> bool:
        try:
            return self.get("/healthz").status == 200
        except OSError:
            return False


def make_keys(tmp_path: Path) -> dict[str, str]:
    """Create a key of each class; return the tokens."""
    path = tmp_path / "state" / "keys.json"
    return {cls: new_key(path, f"{cls}-bot", cls, None, datetime.now(UTC)) for cls in ("restricted", "fleet")}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def failures() -> list[dict[str, Behaviour]]:
    """Return every way in which vendors fail, with the canary in everything they send."""
    words = f"<html>{CANARY}</html>".encode()
    there = [("Location", f"http://127.0.0.1:9/{CANARY}"), ("Set-Cookie", CANARY), (f"X-{CANARY}", CANARY)]
    bad: list[Behaviour] = [
        reply(words, 403, there),
        reply(words, 302, there),
        reply(words, 500, [("Retry-After", CANARY)]),
        reply(words, 200, there),
        raw(CANARY.encode()),
        raw(),
        raw(b"HTTP/1.1 200 OK\r\n" + CANARY.encode() + b"\r\nContent-Length: x\r\n\r\n"),
        silent,
    ]
    return [dict.fromkeys(NAMES, behaviour) for behaviour in bad]


def strange_hits() -> dict[str, Behaviour]:
    """Return answers that hold the canary everywhere, in values of odd types, too."""
    rows = [hit(f"https://{CANARY}.example/{CANARY}", CANARY, CANARY), hit(CANARY, CANARY), hit(f"https://[{CANARY}/")]
    return {name: reply(BODIES[name](rows) | {CANARY: CANARY, "unresponsive_engines": [[CANARY]]}) for name in NAMES}


def requests(service: Service, tokens: dict[str, str]) -> None:
    """Send the canary through every field, header, path, query string and refusal."""
    good = f'"{CANARY}" words'
    for token in tokens.values():
        auth = bearer(token)
        for path in ("/v1/search", "/v2/search"):
            service.post(path, {"query": good}, auth)
            service.post(f"{path}?q={CANARY}&query={CANARY}", {"query": good}, auth)
            service.get(f"{path}?q={CANARY}", auth)
            service.post(path, f'{{"query": "{CANARY}'.encode(), auth)
            service.post(path, f'{{"query": "{CANARY}", "x": "{"y" * 70_000}"}}'.encode(), auth)
            service.post(path, {CANARY: CANARY, "query": CANARY}, auth)
            for field in FIELDS:
                for value in (CANARY, [CANARY], [f"{CANARY}.example"], {CANARY: CANARY}, [[CANARY]]):
                    service.post(path, {"query": good, field: value}, auth)
        service.post("/v1/search", {"queries": [f"{CANARY} {n}" for n in range(4)], "exact_match": False}, auth)
        service.post("/v1/search", {"query": good, "include_domains": [f"{CANARY}.example"], "exact_match": True}, auth)
        headers = dict.fromkeys(("User-Agent", "Cookie", "X-Request-Id", "Referer", "Content-Type", "Accept"), CANARY)
        service.post("/v1/search", {"query": good}, {**auth, **headers, f"X-{CANARY}": CANARY, "Host": CANARY})
        service.get(f"/{CANARY}", auth)
        service.get(f"/v2/{CANARY}?{CANARY}={CANARY}", auth)
        service.get(f"/v1/status?{CANARY}", auth)
        service.get(f"/openapi.json?{CANARY}", auth)
        service.request("DELETE", f"/v1/search?{CANARY}", None, auth)
    service.get(f"/{CANARY}?{CANARY}")
    for value in (f"Bearer {CANARY}", f"Bearer sift_{CANARY}", CANARY, f"Bearer {tokens['fleet'][:-1]}{CANARY}"):
        service.post("/v1/search", {"query": good}, {"Authorization": value})


def through_the_tavily_door(service: Service, tokens: dict[str, str]) -> None:
    """Send the canary and the keys through every field, path and refusal of Tavily's door; nothing leaves the host."""
    urls = [f"https://{CANARY}.example/{CANARY}", f"http://127.0.0.1/{CANARY}", f"http://{CANARY}@a.test/", CANARY]
    fields = ("topic", "days", "include_domains", "time_range", "start_date", "country", "max_results", CANARY)
    for key in (*tokens.values(), CANARY, f"sift_{CANARY}", f"{tokens['fleet'][:-1]}{CANARY}"):
        service.post("/tavily/search", {"query": f'"{CANARY}" words', "api_key": key})
        service.post("/tavily/extract", {"urls": urls, "query": CANARY, "api_key": key})
        service.post("/tavily/extract", {"urls": CANARY, "format": CANARY, "api_key": key})
        service.post(f"/tavily/{CANARY}?{CANARY}", {"query": CANARY, "api_key": key})
        service.post("/tavily/search", f'{{"api_key": "{key}", "query": "{CANARY}'.encode())
        service.post("/tavily/search", f'{{"api_key": "{key}", "query": "{CANARY}", "x": "{"y" * 70_000}"}}'.encode())
        service.request("PUT", f"/tavily/search?{CANARY}", f'{{"api_key": "{key}"}}'.encode())
    for field in fields:
        for value in (CANARY, [f"{CANARY}.example"], {CANARY: CANARY}):
            service.post("/tavily/search", {"query": CANARY, field: value, "api_key": tokens["fleet"]})


def broken_http(service: Service, tokens: dict[str, str]) -> None:
    """Send what the servers themselves refuse, or never get the whole of."""
    auth = f"Authorization: Bearer {tokens['fleet']}"
    for data in (
        f"{CANARY} /{CANARY} HTTP/1.1\r\n\r\n".encode(),
        f"GET /{CANARY} HTTP/9.9\r\n\r\n".encode(),
        f"GET /{CANARY}\xff HTTP/1.1\r\nHost: x\r\n\r\n".encode("latin-1"),
        f"GET /{CANARY * 2000} HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        head(f"/{CANARY}", f"{CANARY}\x01: {CANARY}"),
        head(f"/{CANARY}", f"X-{CANARY}: {CANARY * 2000}"),
        head("/v1/search", auth, f"Content-Length: {CANARY}"),
        head("/v1/search", auth, f"Transfer-Encoding: {CANARY}"),
        head("/v1/search", auth, f"Expect: {CANARY}"),
        head("/v1/search", auth, f"SCRIPT_NAME: /{CANARY}"),
        head("/v1/search", auth, "Transfer-Encoding: chunked") + f"zz;{CANARY}\r\n{CANARY}".encode(),
        head("/v1/search", auth, "Content-Length: 500") + f'{{"query": "{CANARY}"'.encode(),
        f"POST /v1/search HTTP/1.1\r\nHost: {CANARY}\r\nX-".encode(),
    ):
        with suppress(OSError):
            exchange(service, data, half_close=True, within=5)


@pytest.mark.parametrize("level", ["debug", "info", "critical"])
def test_canary_is_found_nowhere(vendors: Vendors, tmp_path: Path, level: str) -> None:
    """contract: Log: sent in fields, headers and paths, and by vendors, it is in no output, file or process title."""
    tokens = make_keys(tmp_path)
    environ = {
        **vendors.environ,
        **for_all("TIMEOUT", "0.3"),
        **for_all("DAILY_CAP", "100000"),
        "SIFT_AUTH": "keys",
        "SIFT_LOG_LEVEL": level,
        "SIFT_BREAKER_FAILURES": "0",
    }
    titles = b""
    with QuietService(tmp_path, environ, ["--access-logfile", "-"]) as service:
        for turn, behaviour in enumerate([strange_hits(), *failures()]):
            vendors.behaviour = behaviour
            service.post("/v1/search", {"query": f"{CANARY} failing {turn}"}, bearer(tokens["fleet"]))
            service.post("/v2/search", {"query": f"{CANARY} v2 {turn}"}, bearer(tokens["restricted"]))
        vendors.behaviour = strange_hits()
        requests(service, tokens)
        through_the_tavily_door(service, tokens)
        broken_http(service, tokens)
        written = b""
        if BINARY is not None and level == "debug":
            with Nginx(tmp_path, service) as nginx:
                requests(nginx.front, tokens)
                through_the_tavily_door(nginx.front, tokens)
                broken_http(nginx.front, tokens)
                vendors.behaviour = failures()[-1]
                nginx.front.post("/v1/search", {"query": f"{CANARY} through nginx"}, bearer(tokens["fleet"]))
                written += nginx.output()
                service.stop()  # nginx logs a backend that is gone
                nginx.front.post("/v1/search?q=" + CANARY, {"query": CANARY}, bearer(tokens["fleet"]))
                written += nginx.output()
        if level != "debug":
            shown = b"".join(service.get(path, bearer(tokens["fleet"])).body for path in ("/metrics", "/v1/status"))
            assert b"sift_searches_total" in shown
            for word in (*CANARY_FORMS, *VENDOR_KEYS, b"-bot", *(token[5:13].encode() for token in tokens.values())):
                assert word not in shown.lower() + shown
            assert service.process is not None
            titles = b"".join(map(title, [service.process.pid, *workers(service)]))
    written += service.log() + titles
    state = b"".join(file.read_bytes() for file in service.state_dir.rglob("*") if file.is_file())
    secrets = [token[14:].encode() for token in tokens.values()]
    for word in (*CANARY_FORMS, *VENDOR_KEYS, *secrets):
        assert word not in written.lower() + written
        assert word not in state
    for token in tokens.values():
        assert token[5:13].encode() not in written  # not even the public id of a key
    assert (b'"caller": "restricted-bot"' in written) is (level != "critical")
    assert b'"method": "POST", "status": 200' in written  # the access log was on
    assert b"Traceback" not in written


@pytest.mark.parametrize(("cls", "fields"), [("restricted", RESTRICTED), ("fleet", FLEET)])
def test_a_search_leaves_one_record_of_exactly_these_fields(
    vendors: Vendors, tmp_path: Path, cls: str, fields: set[str]
) -> None:
    """R9: with domains and three queries, for a miss, a hit, a 503 and a refusal."""
    tokens = make_keys(tmp_path)
    auth = bearer(tokens[cls])
    body: dict[str, Any] = {
        "queries": ["secretone", "secrettwo", "secretthree"],
        "include_domains": ["secret.example"],
        "start_date": "2026-09-01",
        "topic": "news",
        "min_score": 0.5,
    }
    with Service(tmp_path, {**vendors.environ, "SIFT_AUTH": "keys", "SIFT_LOG_LEVEL": "debug"}) as service:
        assert service.post("/v1/search", body, auth).json()["results"] == []  # all filtered out
        assert service.post("/v1/search", body, auth).json()["cached"] is True
        service.post("/v1/search", body | {"topic": "secret-topic"}, auth)  # refused: no record
        vendors.behaviour = dict.fromkeys(NAMES, reply(b"secret-words", 403))
        assert service.post("/v1/search", body | {"k": 9}, auth).status == 503
        vendors.restore()
        assert service.post("/v2/search", {"query": "secretfour"}, auth).status == 200
        records, log = service.records(), service.log()
    assert [set(record) for record in records] == [fields] * 4
    assert [record["caller"] for record in records] == [f"{cls}-bot"] * 4
    assert [record["cache"] for record in records] == ["miss", "hit", "miss", "miss"]
    assert [record["n"] for record in records] == [0, 0, 0, 1 + len(NAMES)]
    assert [record["q_len"] for record in records] == [29, 29, 29, 10]
    assert [record["sources"] for record in records] == [",".join(NAMES)] * 4
    if cls == "fleet":
        assert [record["filters"] for record in records] == ["domains,time,topic,score"] * 3 + [""]
        assert [record["n_queries"] for record in records] == [3, 3, 3, 1]
    assert b"secret" not in log
    assert b"2026-09-01" not in log


def test_waiting_searches_leave_a_record_each(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Log: each search that shared an answer, or a failure, has its own record."""
    gate = threading.Event()

    def behave(connection: Any, seen: Any) -> object:
        gate.wait(5)
        return reply(b"", 500)(connection, seen)

    vendors.behaviour = dict.fromkeys(NAMES, behave)
    with Service(tmp_path, vendors.environ) as service, ThreadPoolExecutor(4) as pool:
        running = [pool.submit(service.post, "/v1/search", {"query": "the same"}) for _ in range(4)]
        with suppress(TimeoutError):
            running[0].result(0.5)
        gate.set()
        assert {each.result().status for each in running} == {503}
        assert sorted(record["cache"] for record in service.records()) == ["miss", "shared", "shared", "shared"]


def test_key_with_a_line_break_is_trimmed_and_a_broken_one_is_not_shown(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Settings: white space around a key is cut; an inner line break stops the start, and no key is shown."""
    environ = vendors.environ | {"SIFT_TAVILY_API_KEY": f"{KEYS['tavily']}\r\n"}
    with Service(tmp_path, environ) as service:
        assert service.search("words")["warnings"] == []
    assert vendors.calls("tavily")[0].headers["authorization"] == f"Bearer {KEYS['tavily']}"
    refused = Service(tmp_path, vendors.environ | {"SIFT_BRAVE_API_KEY": "brave-test\nkey"})
    with pytest.raises(RuntimeError) as refusal:
        refused.start()
    refused.stop()
    assert "SIFT_BRAVE_API_KEY" in str(refusal.value)
    assert "brave-test" not in str(refusal.value)


# --- every place that logs or formats an exception -----------------------------------------------------------------

_WRITERS = {"print", "write", "_write", "exit", "complain", "tell", "say", "warn", "echo", "secho"}
_LOGGERS = {"debug", "info", "warning", "error", "critical", "exception", "log"}
_TRACES = {"format_exc", "print_exc", "format_exception", "extract_tb", "extract_stack", "excepthook", "exc_info"}


def spots(name: str, source: str) -> Iterator[Spot]:
    """Yield each place of a module that writes to an output or a log, or formats a caught exception."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            where = "" if isinstance(function, ast.Module) else function.name
            for node in _own(function):
                if isinstance(node, ast.Call) and (called := _called(node)):
                    if called in _WRITERS | _LOGGERS | _TRACES:
                        yield Spot(name, where, ast.unparse(node))
                elif isinstance(node, ast.ExceptHandler) and node.name:
                    yield from (Spot(name, where, text) for text in _uses(node))


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """Walk a function without the functions defined in it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _own(child)


def _called(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _uses(handler: ast.ExceptHandler) -> Iterator[str]:
    """Yield each expression that formats a caught exception, or reads what may hold its text."""
    for node in ast.walk(handler):
        is_text = (
            isinstance(node, ast.JoinedStr)
            or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.Add))
            or (isinstance(node, ast.Call) and _called(node) in ("str", "repr", "format", "ascii"))
        )
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        if is_text and handler.name in names:
            yield ast.unparse(node)
        if isinstance(node, ast.Attribute) and node.attr in ("args", "__cause__", "__context__", "response", "request"):
            yield ast.unparse(node)


def test_every_place_that_writes_or_formats_an_exception_was_reviewed() -> None:
    """contract: Log: a new log call or formatted exception in sift/ must be reviewed and added to the list."""
    files = [ROOT / "wsgi.py", *(ROOT / "sift").rglob("*.py")]
    found = {spot for path in files for spot in spots(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))}
    assert sorted(found - REVIEWED) == []
    assert sorted(REVIEWED - found) == []


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    f()\nexcept OSError as error:\n    x = f'{error}'",
        "try:\n    f()\nexcept OSError as error:\n    x = str(error)",
        "try:\n    f()\nexcept OSError as error:\n    x = '%s' % error",
        "try:\n    f()\nexcept OSError as error:\n    x = error.args",
        "import logging\nlogging.getLogger('x').exception('y')",
        "def f():\n    print('x')",
        "class C:\n    def f(self):\n        traceback.format_exc()",
    ],
)
def test_review_finds_what_it_should(source: str) -> None:
    """contract: Log: each of these would have to be reviewed."""
    assert list(spots("new.py", source))
