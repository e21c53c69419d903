"""The lines of `sift doctor` (contract: Doctor); what they say is tested in tests/doctor and tests/real."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sift.cli.doctor import for_pipe, for_terminal
from sift.cli.terminal import Screen
from sift.findings import caution, fail, ok

STYLE = re.compile(r"\x1b\[(?:\d+)?m")
FOUND = [
    ok("keys", "2 keys are usable"),
    caution("clock", "late", "set it"),
    fail("brave_llm", "the key is wrong or was revoked", "set SIFT_BRAVE_API_KEY to a key that is good"),
]
SCREEN = Screen(60, 40, has_styles=True, has_colour=True, ellipsis="…")


def test_piped_finding_is_one_line_with_its_cure() -> None:
    """contract: Doctor: level, check, what, and the cure behind a semicolon."""
    assert for_pipe(FOUND) == [
        "ok    keys       2 keys are usable",
        "warn  clock      late; set it",
        "fail  brave_llm  the key is wrong or was revoked; set SIFT_BRAVE_API_KEY to a key that is good",
    ]


def test_finding_on_a_terminal_is_wrapped_with_its_cure_below() -> None:
    """contract: Doctor: the cure has lines of its own; the last line counts."""
    assert [STYLE.sub("", line) for line in for_terminal(FOUND, SCREEN)] == [
        "ok    keys       2 keys are usable",
        "warn  clock      late",
        "                 → set it",
        "fail  brave_llm  the key is wrong or was revoked",
        "                 → set SIFT_BRAVE_API_KEY to a key that is",
        "                   good",
        "",
        "1 ok, 1 warn, 1 fail",
    ]


def test_levels_have_colours_unless_none_is_wanted() -> None:
    """contract: Doctor, Command line: NO_COLOR takes the colour, TERM=dumb all styles."""
    lines = for_terminal(FOUND, SCREEN)
    assert [line.partition("m")[0] for line in (lines[0], lines[1], lines[3])] == ["\x1b[32", "\x1b[33", "\x1b[31"]
    assert not any(STYLE.search(line) for line in for_terminal(FOUND, Screen(60, 40, False, False, "...")))


def test_doctor_on_a_terminal_of_80_columns_keeps_to_them(open_terminal: Any) -> None:
    """contract: Doctor: but for a path, which is whole."""
    terminal = open_terminal(
        "doctor", SIFT_THREADS="x", SIFT_STATE_DIR="/proc/none", SIFT_AUTH="off", SIFT_BIND="[::]:1"
    )
    assert terminal.close() == 1
    shown = STYLE.sub("", terminal.shown.replace("\x1b[K", "")).splitlines()
    assert max(map(len, shown)) <= 80
    assert re.fullmatch(r"\d+ ok, \d+ warn, \d+ fail|\d+ ok, \d+ fail", shown[-1])


def test_json_is_one_object(call: Any, service: Any) -> None:
    """contract: Doctor: `ok`, and every finding with all four fields."""
    done = call("doctor", "--json", SIFT_SEARXNG_URL=service.url)
    answer = json.loads(done.stdout)
    assert set(answer) == {"ok", "checks"}
    assert {frozenset(each) for each in answer["checks"]} == {frozenset({"level", "check", "what", "cure"})}
    assert (answer["ok"], done.returncode) == (False, 1)


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_names_of_variables_are_printed_without_control_sequences(call: Any, flags: tuple[str, ...]) -> None:
    """contract: Doctor, Command line: an environment may hold any name."""
    done = call("doctor", *flags, SIFT_DEMO="on", **{"SIFT_\x1b[31mZ": "1"})
    assert "SIFT_Z is no setting" in done.stdout


def test_warnings_alone_are_no_failure(call: Any, service: Any, tmp_path: Path) -> None:
    """contract: Doctor: what works today ends with 0."""
    done = call("doctor", SIFT_DEMO="on", SIFT_AUTH="off", SIFT_URL="", SIFT_BIND="unix:/run/x", SIFT_KEYS_FILE="")
    levels = [line.split()[0] for line in done.stdout.splitlines()]
    assert ("warn" in levels, "fail" in levels, done.returncode) == (True, False, 0)
    assert service.asked == []


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_env_file_that_cannot_be_read_is_wrong_usage(call: Any, tmp_path: Path, content: bytes | None) -> None:
    """contract: Doctor: named by its flag; its path is not repeated."""
    path = tmp_path / "zebra.env"
    if content is not None:
        path.write_bytes(content)
    done = call("doctor", "--env-file", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert "--env-file" in done.stderr
    assert "zebra" not in done.stderr
