"""`sift status` (contract: Operations, Command line)."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from typing import Any

import pytest

from sift.client import SiftClient
from tests.cli.conftest import SIFT

STYLE = re.compile(r"\x1b\[(?:\d+)?[mHJ]")


def source(name: str, state: str, calls: int, failures: int, *times: float | None, **more: Any) -> dict[str, Any]:
    p50, p95 = times or (None, None)
    return {"name": name, "state": state, **more, "calls": calls, "failures": failures, "p50_ms": p50, "p95_ms": p95}


FAILURE = {"reason": "http 403", "at": "2026-09-30T08:00:00Z"}
STATUS: dict[str, Any] = {
    "version": "1.2.3",
    "since": "2026-09-29T12:00:00Z",
    "workers": 2,
    "sources": [
        source("searxng", "failing", 12, 3, 840.5, 1200.0, last_failure=FAILURE),
        source("tavily", "ok", 9, 0, 401.0, 420.1) | {"credits": {"used": None, "limit": 30, "resets_at": "x"}},
        source("brave_llm", "idle", 0, 0) | {"credits": {"used": 7, "limit": 90, "resets_at": "x"}},
    ],
    "cache": {"entries": 14, "hit_rate": 0.256},
    "demo": False,
}  # fmt: skip
LINES = [
    "Sift 1.2.3 since 2026-09-29T12:00:00Z; workers: 2; answers kept: 14; hit rate: 26%",
    "",
    "source     state    calls  failures  p50 ms  p95 ms  credits  last failure",
    "searxng    failing     12         3   840.5  1200.0        -  http 403, 2026-09-30T08:00:00Z",
    "tavily     ok           9         0   401.0   420.1     -/30",
    "brave_llm  idle         0         0       -       -     7/90",
]


def test_status_is_a_table_of_the_sources(call: Any, service: Any) -> None:
    """contract: Command line: a line on the service, then one for each source; a dash where there is nothing."""
    service.answers(STATUS)
    done = call("status")
    assert (service.asked[0][0], done.stdout.splitlines(), done.returncode) == ("/v1/status", LINES, 0)


def test_status_of_the_demo_says_so(call: Any, service: Any) -> None:
    """contract: Command line: nobody takes the demo for the web."""
    service.answers(STATUS | {"demo": True})
    assert call("status").stdout.splitlines()[0] == f"{LINES[0]}; demo sources"


def test_states_are_coloured_on_a_terminal(open_terminal: Any, service: Any) -> None:
    """contract: Command line: red for a failing source, green for one that works; the columns stay."""
    service.answers(STATUS)
    terminal = open_terminal("status", columns=120)
    assert terminal.close() == 0
    assert STYLE.sub("", terminal.shown).splitlines() == LINES
    for coloured in ("searxng    \x1b[31mfailing\x1b[0m ", "tavily     \x1b[32mok\x1b[0m ", "\x1b[2midle\x1b[0m "):
        assert coloured in terminal.shown


def test_status_as_json_is_the_answer_alone(call: Any, service: Any) -> None:
    """contract: Command line: `--json`."""
    service.answers(STATUS)
    done = call("status", "--json")
    assert (json.loads(done.stdout), done.stderr, done.returncode) == (STATUS, "", 0)


def test_hostile_status_cannot_control_the_terminal(open_terminal: Any, service: Any) -> None:
    """contract: Command line: whatever answers, its texts are only text."""
    evil = "\x1b]0;title\x07\x1b[2Jx\nnext"
    service.answers(STATUS | {"version": evil, "sources": [source(evil, evil, 1, 1, last_failure={"reason": evil})]})
    terminal = open_terminal("status", columns=120)
    assert terminal.close() == 0
    assert "\x1b]" not in terminal.shown
    assert "\x1b[2J" not in terminal.shown
    assert len(terminal.shown.splitlines()) == 4


def test_watch_looks_again_until_it_is_interrupted(service: Any, environ: Any) -> None:
    """contract: Command line: every two seconds; a service that is away for a moment ends nothing."""
    service.answers(STATUS)
    with subprocess.Popen(
        [SIFT, "status", "--watch"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watching:
        assert watching.stdout is not None
        assert watching.stderr is not None
        assert [watching.stdout.readline().rstrip("\n") for _ in LINES] == LINES
        service.answers({"error": "internal error", "hint": ""}, 500)
        assert watching.stderr.readline().startswith("sift: ")
        service.answers(STATUS)
        assert [watching.stdout.readline().rstrip("\n") for _ in LINES] == LINES
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 130


def test_watch_on_a_terminal_begins_at_its_top(open_terminal: Any, service: Any) -> None:
    """contract: Command line: what was shown is replaced."""
    service.answers(STATUS)
    terminal = open_terminal("status", "--watch", columns=120)
    shown = terminal.read(until="brave_llm")
    assert shown.startswith("\x1b[H\x1b[2JSift 1.2.3")


@pytest.mark.parametrize(
    ("payload", "status", "code"),
    [
        ({"error": "forbidden", "hint": "class"}, 403, 3),
        ({"error": "unauthorized", "hint": ""}, 401, 3),
        ({"error": "proxy", "hint": ""}, 503, 4),
        ({"version": 5, "sources": [], "cache": {}}, 200, 1),
        ({"version": "1", "sources": [5], "cache": {}}, 200, 1),
        ({"version": "1", "sources": []}, 200, 1),
        ({"error": "internal error", "hint": ""}, 500, 1),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--watch",)], ids=["", "watch"])
def test_refused_status_ends_with_its_code(
    call: Any, service: Any, payload: dict[str, Any], status: int, code: int, flags: tuple[str, ...]
) -> None:
    """contract: Command line: the exit codes of the table; stdout stays empty. The first look decides."""
    service.answers(payload, status)
    done = call("status", *flags)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("sift: ")


def test_client_takes_the_status_of_a_service(service: Any) -> None:
    """contract: Operations: with the status that was answered."""
    service.answers(STATUS)
    assert SiftClient(service.url).status().payload == STATUS
