"""The installed `sift` command against the shipped service."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.real.conftest import Running
from tests.real.programs import free_port, run_sift
from tests.vendors import BODIES, NAMES, hit, reply

Run = Callable[..., "CompletedProcess[str]"]


@pytest.fixture
def sift(running: Running, tmp_path: Path) -> Run:
    """Return a function that runs the command against the shared service."""

    def run(*arguments: str, **changes: str) -> CompletedProcess[str]:
        environ = {"SIFT_URL": running.service.url, "SIFT_TOKEN": running.tokens.restricted, **changes}
        return run_sift(*arguments, environ=environ, home=tmp_path)

    return run


def test_search_text(sift: Run, running: Running, fresh: Callable[[], str]) -> None:
    """Exit code 0: title, address, snippet, date; a blank line between hits; warnings on stderr."""
    rows = [hit("https://a.example/", "A", "Of A.", date="2026-09-01"), hit("https://b.example/", "B", "Of B.")]
    for name in NAMES:
        running.vendors.behaviour[name] = reply(BODIES[name]([]))
    running.vendors.behaviour["searxng"] = reply(BODIES["searxng"](rows))
    running.vendors.behaviour["brave_llm"] = reply(b"", 500)
    done = sift("search", fresh())
    assert done.stdout == "A\nhttps://a.example/\nOf A.\n2026-09-01\n\nB\nhttps://b.example/\nOf B.\n"
    assert (done.returncode, done.stderr) == (0, "warning: brave_llm: http 500\n")


def test_search_json(sift: Run, running: Running, fresh: Callable[[], str]) -> None:
    """Exit code 0: the service's envelope and nothing else on stdout."""
    query = fresh()
    done = sift("search", query, "--k", "2", "--json")
    asked = running.service.post("/v1/search", {"query": query, "k": 2}, running.fleet).json()
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == asked
    assert len(asked["results"]) == 2


def test_search_no_hits(sift: Run, running: Running, fresh: Callable[[], str]) -> None:
    """contract: Command line: exit code 0, in text and JSON alike."""
    for name in NAMES:
        running.vendors.behaviour[name] = reply(BODIES[name]([]))
    query = fresh()
    assert [sift("search", query, *more).returncode for more in ([], ["--json"])] == [0, 0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--include-domain", "https://a.example/"],
        ["--time-range", "decade"],
        ["--exact-match"],
        ["--k", "51"],
        ["--no-such-flag"],
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments: list[str], sift: Run) -> None:
    """Exit code 2: whether the command refuses it or the service; stdout stays empty, stderr names the flag."""
    done = sift("search", "x", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert arguments[0] in done.stderr


@pytest.mark.parametrize("token", ["", "sift_abcdefgh_" + "A" * 43], ids=["none", "unknown"])
def test_wrong_key(token: str, sift: Run) -> None:
    """Exit code 3."""
    done = sift("search", "x", SIFT_TOKEN=token)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert "SIFT_TOKEN" in done.stderr


def test_service_away(sift: Run) -> None:
    """contract: Command line: exit code 4, one line on stderr, nothing on stdout."""
    done = sift("search", "x", SIFT_URL=f"http://127.0.0.1:{free_port()}")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)


def test_all_sources_failed(sift: Run, running: Running, fresh: Callable[[], str]) -> None:
    """Exit code 5, and each failure on stderr."""
    for name in NAMES:
        running.vendors.behaviour[name] = reply(b"", 500)
    done = sift("search", fresh())
    assert (done.returncode, done.stdout) == (5, "")
    assert [line for line in done.stderr.splitlines() if "http 500" in line][: len(NAMES)] == [
        f"warning: {name}: http 500" for name in NAMES
    ]


def test_filters_reach_the_vendors(sift: Run, running: Running, fresh: Callable[[], str], tmp_path: Path) -> None:
    """contract: Command line: every flag arrives where it belongs; several queries come from a file."""
    queries = [f'{fresh()} "a phrase"', f'{fresh()} "another"']
    path = tmp_path / "queries.json"
    path.write_text(json.dumps(queries))
    flags = ["--include-domain", "docs.example", "--exclude-domain", "bad.example", "--domains-mode", "prefer"]
    flags += ["--time-range", "w", "--topic", "finance", "--exact-match", "--min-score", "0.5", "--no-rerank"]
    done = sift("search", "--queries-file", str(path), *flags, "--json")
    assert done.returncode == 0
    bodies = [seen.json() for seen in running.vendors.calls("tavily")]
    assert [body["query"] for body in bodies] == queries
    expected = {
        "include_domains": ["docs.example"],
        "include_domains_mode": "prefer",
        "exclude_domains": ["bad.example"],
        "time_range": "week",
        "topic": "finance",
        "exact_match": True,
    }
    assert [{name: body.get(name) for name in expected} for body in bodies] == [expected, expected]
