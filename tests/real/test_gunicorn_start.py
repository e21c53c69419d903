"""Starting gunicorn with the shipped settings: what they are, which starts are refused, what an import does."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sift.search.calls import GRACE
from sift.search.fields import MAX_QUERIES
from tests.real.programs import new_key
from tests.service import ROOT, Service
from tests.vendors import NAMES, Vendors

MAX_TIMEOUT = 10  # seconds; the upper bound for a source (contract: Settings)
DEMO = {"SIFT_AUTH": "off", "SIFT_DEMO": "on"}
CONF = ("-c", "python:sift.gunicorn_conf")


def gunicorn(home: Path, environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run gunicorn until it exits by itself."""
    command = [sys.executable, "-m", "gunicorn", "-b", "127.0.0.1:0", *arguments, "wsgi:app"]
    whole = {"PATH": os.environ["PATH"], "HOME": str(home), "SIFT_STATE_DIR": str(home / "state"), **environ}
    return subprocess.run(command, cwd=ROOT, env=whole, capture_output=True, text=True, timeout=30, check=False)


def refused(output: str) -> dict[str, Any]:
    """Return the record of a refused start, the only one of its kind in this output."""
    (line,) = [line for line in output.splitlines() if '"start_refused"' in line]
    record: dict[str, Any] = json.loads(line)
    assert list(record) == ["ts", "level", "event", "message"]
    assert "\n" not in record["message"]
    return record


def bad_setting(state: Path) -> dict[str, str]:
    return {**DEMO, "SIFT_THREADS": "plenty"}


def no_source(state: Path) -> dict[str, str]:
    return {"SIFT_AUTH": "off"}


def no_key_file(state: Path) -> dict[str, str]:
    return {"SIFT_DEMO": "on"}


def no_usable_key(state: Path) -> dict[str, str]:
    token = new_key(state, "gone", "fleet")
    keys = state / "keys.json"
    keys.write_text(keys.read_text().replace('"created"', '"disabled": true,\n    "created"'))
    assert token.split("_")[1] in keys.read_text()
    return {"SIFT_DEMO": "on"}


def wide_key_file(state: Path) -> dict[str, str]:
    new_key(state, "open", "fleet")
    (state / "keys.json").chmod(0o644)
    return {"SIFT_DEMO": "on"}


def key_with_control_character(state: Path) -> dict[str, str]:
    return {"SIFT_AUTH": "off", "SIFT_BRAVE_API_KEY": "BSA-secret\x07part"}


REFUSALS = {
    bad_setting: ["SIFT_THREADS"],
    no_source: ["SIFT_SEARXNG_URL", "SIFT_BRAVE_API_KEY", "SIFT_TAVILY_API_KEY"],
    no_key_file: ["SIFT_KEYS_FILE", "sift key new"],
    no_usable_key: ["SIFT_KEYS_FILE", "sift key new"],
    wide_key_file: ["SIFT_KEYS_FILE", "0644", "0600"],
    key_with_control_character: ["SIFT_BRAVE_API_KEY"],
}


@pytest.mark.parametrize(
    ("refusal", "arguments"),
    [
        *((refusal, CONF) for refusal in REFUSALS),
        (no_key_file, (*CONF, "--preload", "--workers", "2")),
        (bad_setting, ()),
        (wide_key_file, ()),
        (no_source, ("--preload",)),
    ],
    ids=lambda value: value.__name__ if callable(value) else " ".join(value) or "without our settings",
)
def test_start_that_must_be_refused_ends_at_once_with_one_line(
    refusal: Callable[[Path], dict[str, str]], arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """contract: Settings: a refused start prints one line that says why, and ends gunicorn with a non-zero code."""
    ended = gunicorn(tmp_path, refusal(tmp_path / "state"), *arguments)
    output = ended.stdout + ended.stderr
    assert ended.returncode not in (0, None)
    assert all(word in refused(output)["message"] for word in REFUSALS[refusal])
    assert not [word for word in ("Traceback", "secret", "plenty") if word in output]
    if CONF[0] in arguments:  # the master itself checked, so no worker was started
        assert len(output.splitlines()) == 1


def test_start_without_our_settings_refused_by_each_worker_ends(tmp_path: Path) -> None:
    """contract: Settings: when only the workers notice, none of them is respawned for ever."""
    ended = gunicorn(tmp_path, no_source(tmp_path), "--workers", "2")
    assert ended.returncode != 0  # 3, or 1 when the second worker ends while gunicorn is at it
    assert 1 <= ended.stderr.count("SIFT_SEARXNG_URL") <= 2


def resolved_settings(tmp_path: Path, environ: dict[str, str]) -> dict[str, Any]:
    """Return the settings as gunicorn itself resolves them."""
    listed = gunicorn(tmp_path, {**DEMO, **environ}, *CONF, "--print-config")
    assert listed.returncode == 0, listed.stderr
    return dict(re.findall(r"^(\w+) += (.*)$", listed.stdout, re.MULTILINE))


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return resolved_settings(tmp_path_factory.mktemp("settings"), {})


def test_timeouts_above_the_worst_case_of_a_request(shipped: dict[str, Any]) -> None:
    """contract: Operations: a worker is not killed during four queries whose sources all use their whole timeout."""
    worst = MAX_QUERIES * (MAX_TIMEOUT + GRACE)
    assert int(shipped["timeout"]) > worst
    assert int(shipped["graceful_timeout"]) > worst


def test_workers_are_not_restarted_after_some_requests(shipped: dict[str, Any]) -> None:
    """contract: Operations: such a restart would reset connections."""
    assert (shipped["max_requests"], shipped["max_requests_jitter"]) == ("0", "0")


def test_application_is_made_before_workers_are_forked(shipped: dict[str, Any]) -> None:
    """contract: Operations: what it consists of is then in memory once, not once for each worker."""
    assert shipped["preload_app"] == "True"


def test_settings_that_are_shipped(shipped: dict[str, Any]) -> None:
    """contract: Operations: a worker of our own, one of them, loopback, no access log, no control socket."""
    assert shipped["worker_class"] == "sift.server.worker.Worker"
    names = ("workers", "threads", "bind", "accesslog", "control_socket_disable", "pidfile")
    assert [shipped[name] for name in names] == ["1", "64", "['127.0.0.1:0']", "None", "True", "None"]


def test_settings_of_the_environment_are_followed(tmp_path: Path) -> None:
    """contract: Settings, Operations: WEB_CONCURRENCY sets the workers, SIFT_THREADS the threads of each."""
    found = resolved_settings(tmp_path, {"WEB_CONCURRENCY": "3", "SIFT_THREADS": "300"})
    assert (found["workers"], found["threads"]) == ("3", "300")
    assert int(found["worker_connections"]) == 4 * 300


IMPORT = """
import os, socket, sys, threading
def watch(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "os.fork"):
        print("event", event)
sys.addaudithook(watch)
import wsgi
assert wsgi.app.url_map
sockets = [fd for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")
           and os.readlink(f"/proc/self/fd/{fd}").startswith("socket:")]
print([thread.name for thread in threading.enumerate()], sockets, sorted(os.listdir(os.environ["HOME"])))
"""


@pytest.mark.parametrize("demo", ["on", "off"])
def test_import_starts_nothing(demo: str, tmp_path: Path) -> None:
    """contract: Operations: importing the application starts no thread, opens no socket and writes no file."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "SIFT_AUTH": "off", "SIFT_DEMO": demo}
    environ |= {"SIFT_SEARXNG_URL": "http://127.0.0.1:1", "SIFT_BRAVE_API_KEY": "x", "SIFT_TAVILY_API_KEY": "x"}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], cwd=ROOT, env=environ, capture_output=True, text=True, timeout=30, check=True
    )
    *events, last = done.stdout.splitlines()
    assert events == []
    assert last == "['MainThread'] [] []"


def test_two_workers_each_answer_their_first_search(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: everything in the application survives the fork or is made after it; no worker hangs.

    Each worker has its own cache, so two uncached answers to one query come from two workers.
    """
    with Service(tmp_path, vendors.environ | {"WEB_CONCURRENCY": "2"}) as service:
        first = service.search("anything")
        answers = [first]
        with ThreadPoolExecutor(4) as pool:
            for _ in range(100):
                answers += pool.map(service.search, ["anything"] * 4)
                if sum(not answer["cached"] for answer in answers) == 2:
                    break
    assert sum(not answer["cached"] for answer in answers) == 2
    assert all(answer["results"] == first["results"] and not answer["warnings"] for answer in answers)
    assert service.log().count(b"Booting worker") == 2


def test_demo_sources_answer_in_every_worker(tmp_path: Path) -> None:
    """contract: Demo: each worker starts its own demo server on first use."""
    environ = {"SIFT_DEMO": "on", "WEB_CONCURRENCY": "2", "SIFT_CACHE_TTL": "0"}
    with Service(tmp_path, environ) as service, ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(service.search, ["context manager"] * 8))
    assert all(answer["sources_ok"] == [*NAMES] for answer in answers)
    assert all(answer["results"] for answer in answers)


def test_entry_point_is_what_the_layout_says() -> None:
    """contract: Operations: `wsgi:app` is the only application, made by `create_app` at import."""
    tree = ast.parse((ROOT / "wsgi.py").read_text())
    calls = [node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    assert calls.count("create_app") == 1
