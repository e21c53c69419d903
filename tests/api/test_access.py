"""Authentication on a running service: every route, keys that change while it runs, and throttled guesses.

contract: Callers.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sift.app import create_app
from sift.auth import identify
from sift.auth.identify import KeyFile
from sift.auth.keys import new_key, revoke
from sift.auth.throttle import FREE_FAILURES, Throttle
from sift.config import Config
from sift.errors import UnauthorizedError
from sift.sources import DECLARED
from tests.faults.callers import exchange, head, parse
from tests.service import ROOT, Reply, Service
from tests.vendors import Vendors
from tests.waiting import wait_for

V1_REFUSAL = {"error": "unauthorized", "hint": ""}
V2_REFUSAL = {"success": False, "error": "sift: missing or invalid API key", "details": ""}
TAVILY_REFUSAL = {"detail": {"error": "sift: missing or invalid API key"}}
REFUSALS = {"/v2/": V2_REFUSAL, "/tavily/": TAVILY_REFUSAL}
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE", "BREW"]


def now() -> datetime:
    return datetime.now(UTC)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


class Guarded:
    """A service with keys, and a token of each class."""

    def __init__(self, place: Path, vendors: Vendors, **environ: str) -> None:
        self.keys = place / "state" / "keys.json"
        self.fleet = new_key(self.keys, "fleet-bot", "fleet", None, now())
        self.restricted = new_key(self.keys, "restricted-bot", "restricted", None, now())
        self.service = Service(place, {**vendors.environ, "SIFT_AUTH": "keys", **environ})
        self.vendors = vendors

    def search(self, authorization: str | None, query: str = "words") -> Reply:
        """Search with an Authorization header."""
        headers = {} if authorization is None else {"Authorization": authorization}
        return self.service.post("/v1/search", {"query": query}, headers)

    def sift(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the `sift` command of this environment on the service's key file."""
        command = [sys.executable, "-m", "sift", *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=self.service.environ, capture_output=True, text=True, timeout=60, check=False
        )


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Run one service for all tests that do not change it."""
    with Vendors() as vendors:
        # With seven threads none may be delayed, so refusals are immediate here.
        guarded = Guarded(tmp_path_factory.mktemp("access"), vendors, SIFT_THREADS="7")
        with guarded.service:
            yield guarded


def rules(tmp_path: Path) -> set[str]:
    """Return every path of the application's URL map."""
    environ = {"SIFT_AUTH": "off", "SIFT_DEMO": "on", "SIFT_STATE_DIR": str(tmp_path)}
    return {rule.rule for rule in create_app(Config.from_env(environ, DECLARED)).url_map.iter_rules()}


def test_every_route_but_those_for_health_needs_a_key(guarded: Guarded, tmp_path: Path) -> None:
    """contract: Callers: every path and method answers 401 in the version's format, and no vendor is called."""
    paths = rules(tmp_path)
    assert {"/healthz", "/readyz", "/metrics", "/v1/search", "/v1/status", "/v2/search"} <= paths
    assert {"/tavily/search", "/tavily/extract"} <= paths
    unknown = [
        "/",
        "/v1",
        "/v1/",
        "/v2/x",
        "/tavily/x",
        "/tavily/",
        "/tavily",
        "/static/x",
        "/healthz/",
        "/healthz/x",
        "//healthz",
        "//readyz",
        "/readyz/",
        "/metrics/",
        "/v1/../healthz",
        "/HEALTHZ",
    ]
    for path in [*sorted(paths - {"/healthz", "/readyz"}), *unknown]:
        for method in METHODS:
            answer = parse(exchange(guarded.service, head(path, "Content-Length: 0", method=method)))
            assert (path, method, answer.status) == (path, method, 401)
            assert answer.headers["www-authenticate"] == 'Bearer realm="sift"'
            if method != "HEAD":
                assert answer.json() == REFUSALS.get(path[: path.find("/", 1) + 1], V1_REFUSAL)
    for path, method in product(("/healthz", "/readyz"), METHODS):
        answer = parse(exchange(guarded.service, head(path, method=method)))
        assert answer.status == (200 if method in ("GET", "HEAD") else 405)
    assert guarded.vendors.seen == []


WRONG = {
    "none": None,
    "secret of another key": "Bearer sift_{other}_{secret}",
    "not ASCII": "Bearer caf\xe9",
    "long": "Bearer " + "a" * 7000,
}


@pytest.mark.parametrize("authorization", WRONG.values(), ids=WRONG)
def test_wrong_authorization_is_the_same_401(guarded: Guarded, authorization: str | None) -> None:
    """contract: Callers: missing, malformed and unknown alike; never a 500."""
    token = guarded.fleet
    filled = authorization and authorization.format(secret=token[14:], other=guarded.restricted[5:13])
    answer = guarded.search(filled)
    assert (answer.status, answer.json()) == (401, V1_REFUSAL)


def test_key_is_checked_before_the_body_is_read(guarded: Guarded) -> None:
    """contract: Callers: a client without a key gets its 401 although its body never arrives."""
    data = head("/v1/search", "Content-Length: 60000")
    assert parse(exchange(guarded.service, data, half_close=True)).status == 401


def test_key_in_the_body_makes_the_caller_that_its_header_would(guarded: Guarded) -> None:
    """contract: Tavily door: over a real connection, whole, in chunks, or cut off."""
    body = {"query": "body words", "api_key": guarded.restricted}
    assert guarded.service.post("/tavily/search", body).status == 200
    assert guarded.service.post("/tavily/search", body | {"api_key": guarded.restricted[:-1]}).status == 401
    chunk = json.dumps(body).encode()
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(chunk), chunk)
    sent = head("/tavily/search", "Transfer-Encoding: chunked") + chunks
    assert parse(exchange(guarded.service, sent)).status == 200
    for sent, status in ((chunk[:-1], 401), (chunk, 400)):  # the second shows a key, and is shorter than it says
        cut = head("/tavily/search", "Content-Length: 60000") + sent
        assert parse(exchange(guarded.service, cut, half_close=True)).status == status
    records = guarded.service.records()[-2:]
    assert [(record["caller"], "filters" in record) for record in records] == [("restricted-bot", False)] * 2


def test_class_comes_from_the_key_alone(guarded: Guarded) -> None:
    """contract: Callers: no header and no field makes a restricted caller a fleet one."""
    headers = {
        **bearer(guarded.restricted),
        "X-Caller-Class": "fleet",
        "X-Sift-Class": "fleet",
        "Cookie": "class=fleet",
    }
    answer = guarded.service.get("/v1/status?class=fleet&caller_class=fleet", headers)
    assert (answer.status, answer.json()) == (403, {"error": "forbidden", "hint": "class"})
    assert guarded.service.get("/v1/status", bearer(guarded.fleet)).status == 200
    body = {"query": "class words", "caller_class": "fleet"}
    assert guarded.service.post("/v1/search", body, bearer(guarded.fleet)).json()["cached"] is False
    assert guarded.service.post("/v1/search", body, headers).json()["cached"] is False  # one entry per class
    assert guarded.service.post("/v1/search", body, headers).json()["cached"] is True


def test_secrets_are_compared_in_constant_time(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: Callers: each attempt, known or not, makes one compare_digest on bytes of equal length."""
    compared: list[tuple[Any, Any]] = []
    real = identify.hmac.compare_digest

    def spy(one: Any, other: Any) -> bool:
        compared.append((one, other))
        return real(one, other)

    monkeypatch.setattr(identify.hmac, "compare_digest", spy)
    keys = KeyFile(guarded.keys)
    keys.check()
    assert keys.identify(f"Bearer {guarded.fleet}").name == "fleet-bot"
    for wrong in (f"Bearer {guarded.fleet[:-1]}", f"Bearer sift_aaaaaaaa_{guarded.fleet[14:]}", "Bearer x", None):
        with pytest.raises(UnauthorizedError):
            keys.identify(wrong)
    assert len(compared) == 5
    assert {(type(one), len(one), type(other), len(other)) for one, other in compared} == {(bytes, 32, bytes, 32)}
    tree = ast.parse((ROOT / "sift/auth/identify.py").read_text(encoding="utf-8"))
    equalities = [node for node in ast.walk(tree) if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq)]
    compares = [ast.unparse(node) for node in equalities]
    assert not [text for text in compares if "digest" in text or "secret" in text]


# --- keys that change while it runs --------------------------------------------------------------------------------


def test_keys_are_rotated_revoked_and_expire_while_it_runs(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Callers: a running service follows what `sift key` creates, lists and revokes."""
    guarded = Guarded(tmp_path, vendors)
    with guarded.service:
        made = guarded.sift("key", "new", "--name", "fleet-bot", "--class", "fleet", "--expires", "90d")
        assert made.returncode == 0
        token = made.stdout.strip()
        assert guarded.search(f"Bearer {token}").status == 200
        assert guarded.search(f"Bearer {guarded.fleet}").status == 200  # both keys of one caller, during a rotation
        assert guarded.sift("key", "revoke", guarded.fleet[5:13]).returncode == 0
        assert guarded.search(f"Bearer {guarded.fleet}").status == 401
        assert guarded.search(f"Bearer {token}").status == 200
        assert guarded.fleet[5:13] in guarded.sift("key", "list").stdout
        for key in (token, guarded.restricted):
            revoke(guarded.keys, key[5:13])
        assert guarded.search(f"Bearer {token}").status == 401
        assert guarded.service.get("/healthz").status == 200
        entries = json.loads(guarded.keys.read_text())
        del entries[1]["disabled"]
        replace(guarded.keys, json.dumps(entries).encode())
        assert guarded.search(f"Bearer {guarded.restricted}").status == 200
        entries[1]["expires"] = "2026-01-01T00:00:00Z"
        replace(guarded.keys, json.dumps(entries).encode())
        expired = guarded.search(f"Bearer {guarded.restricted}")
        assert (expired.status, expired.json()) == (401, V1_REFUSAL)
    assert guarded.keys.stat().st_mode & 0o777 == 0o600


def replace(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace a file atomically."""
    draft = path.with_suffix(".draft")
    draft.write_bytes(content)
    draft.chmod(mode)
    draft.replace(path)


DAMAGES = {
    "truncated": (b'[{"id": "abc', 0o600),
    "readable by all": (b"[]", 0o644),
}


@pytest.mark.parametrize(("content", "mode"), DAMAGES.values(), ids=DAMAGES)
def test_broken_key_file_keeps_the_old_keys_and_says_so(guarded: Guarded, content: bytes, mode: int) -> None:
    """contract: Callers: while the new file is unusable the old keys stay valid, and one error says so; the next valid
    file takes effect.
    """
    good = guarded.keys.read_bytes()
    before = len(guarded.service.records("key_file_unusable"))
    replace(guarded.keys, content, mode)
    assert [guarded.search(f"Bearer {guarded.fleet}").status for _ in range(3)] == [200] * 3
    assert guarded.search("Bearer sift_aaaaaaaa_" + "s" * 43).status == 401
    assert len(guarded.service.records("key_file_unusable")) == before + 1
    replace(guarded.keys, good)
    assert guarded.search(f"Bearer {guarded.restricted}").status == 200


def test_wide_key_file_stops_the_start(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Callers: a mode wider than 0600 ends all of gunicorn at once, with an exit code other than 0."""
    guarded = Guarded(tmp_path, vendors)
    guarded.keys.chmod(0o620)
    refuse(guarded.service, "SIFT_KEYS_FILE")


def test_no_usable_key_stops_the_start(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Settings: a service without a key does not start; the message names the command that makes one."""
    guarded = Guarded(tmp_path, vendors)
    replace(guarded.keys, b"[]")
    assert "sift key new" in refuse(guarded.service, "SIFT_KEYS_FILE")


def refuse(service: Service, word: str) -> str:
    """Start a service that must refuse to; return its message."""
    with pytest.raises(RuntimeError, match=word) as refusal:
        service.start()
    assert service.process is not None
    wait_for(lambda: service.process is not None and service.process.poll() is not None, 5)
    assert service.stop() != 0
    assert "Traceback" not in str(refusal.value)
    return str(refusal.value)


# --- guesses -------------------------------------------------------------------------------------------------------


def test_guesses_are_delayed_and_nobody_else(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Callers: one address, as behind a proxy: guesses are delayed, in a share of the threads; valid keys
    never are.
    """
    guarded = Guarded(tmp_path, vendors, SIFT_THREADS="8")
    with guarded.service, ThreadPoolExecutor(24) as pool:
        for _ in range(FREE_FAILURES + 4):
            assert guarded.search("Bearer x").status == 401
        started = time.monotonic()
        assert guarded.search("Bearer x").status == 401
        assert time.monotonic() - started >= 0.5  # the fifth delay of 0.1 s, doubling up to 1 s
        guesses = [pool.submit(guarded.search, "Bearer x") for _ in range(160)]
        started = time.monotonic()
        for number in range(20):
            assert guarded.search(f"Bearer {guarded.fleet}", f"words {number}").status == 200
        assert time.monotonic() - started < 10
        assert {guess.result().status for guess in guesses} == {401}


def test_throttle_delays_per_address_and_forgets() -> None:
    """contract: Callers: no delay at first, then doubling up to a second; per address; forgotten after a minute."""
    waits: list[float] = []
    clock = [0.0]
    throttle = Throttle(16, sleep=waits.append, clock=lambda: clock[0])
    for _ in range(FREE_FAILURES + 6):
        throttle.refused("192.0.2.1")
    assert waits == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    throttle.refused("192.0.2.2")
    assert len(waits) == 6
    clock[0] = 61.0
    throttle.refused("192.0.2.1")
    assert len(waits) == 6


@pytest.mark.parametrize("threads", [8, 15, 16, 64])
def test_throttle_delays_one_thread_in_eight_at_most(threads: int) -> None:
    """contract: Callers: a refusal during so many delays is answered at once."""
    delayed: list[float] = []

    def sleep(seconds: float) -> None:  # a refusal that arrives during a delay
        delayed.append(seconds)
        throttle.refused("192.0.2.1")

    throttle = Throttle(threads, sleep=sleep, clock=lambda: 0.0)
    for _ in range(FREE_FAILURES + 1):
        throttle.refused("192.0.2.1")
    assert len(delayed) == threads // 8


def test_throttle_bounds_its_memory_and_spares_small_workers() -> None:
    """contract: Callers: a hundred thousand addresses take bounded memory; a worker of few threads delays nobody."""
    waits: list[float] = []
    throttle = Throttle(8, sleep=waits.append, clock=lambda: 0.0)
    for number in range(100_000):
        throttle.refused(f"address {number}")
    assert len(throttle._failures) <= 4096
    small = Throttle(4, sleep=waits.append, clock=lambda: 0.0)
    for _ in range(50):
        small.refused("192.0.2.1")
    assert waits == []
