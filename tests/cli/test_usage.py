"""`sift usage` (contract: Usage, Command line)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

STYLE = re.compile(r"\x1b\[(?:\d+)?m")
KINDS = ("calls", "credits", "spared_by_cache", "spared_by_sharing", "refused_by_cap")


def used(source: str, *counts: int) -> dict[str, Any]:
    return {"source": source, **dict(zip(KINDS, counts, strict=True))}


USAGE = {
    "days": [
        {"day": "2026-09-29", "sources": [used("searxng", 90, 0, 30, 2, 0), used("tavily", 3, 4, 1, 0, 7)]},
        {"day": "2026-09-28", "sources": [used("tavily", 0, 0, 0, 0, 9)]},
    ]
}
LINES = [
    "day         source   calls  credits  cached  shared  refused",
    "2026-09-29  searxng     90        0      30       2        0",
    "2026-09-29  tavily       3        4       1       0        7",
    "2026-09-28  tavily       0        0       0       0        9",
]


def test_usage_is_a_table_of_days_and_sources(call: Any, service: Any) -> None:
    """contract: Command line: a line for each, of the days asked for."""
    service.answers(USAGE)
    done = call("usage", "--days", "2")
    assert (service.asked[0][0], done.stdout.splitlines(), done.returncode) == ("/v1/usage?days=2", LINES, 0)


def test_usage_has_bars_on_a_terminal(open_terminal: Any, service: Any) -> None:
    """contract: Command line: in proportion to the calls; any call is at least one mark, none is none."""
    service.answers(USAGE)
    terminal = open_terminal("usage", columns=100)
    assert terminal.close() == 0
    shown = STYLE.sub("", terminal.shown).splitlines()
    assert shown == [LINES[0], f"{LINES[1]}  {'█' * 30}", f"{LINES[2]}  █", LINES[3]]


def test_usage_of_a_narrow_terminal_has_no_bars(open_terminal: Any, service: Any) -> None:
    """contract: Command line: the numbers come first."""
    service.answers(USAGE)
    terminal = open_terminal("usage", columns=40)
    assert terminal.close() == 0
    assert STYLE.sub("", terminal.shown).splitlines() == LINES


def test_usage_as_json_is_the_answer_alone(call: Any, service: Any) -> None:
    """contract: Command line: `--json`."""
    service.answers(USAGE)
    assert json.loads(call("usage", "--json").stdout) == USAGE
    assert service.asked[0][0] == "/v1/usage?days=7"


def test_usage_of_nothing_says_so(call: Any, service: Any) -> None:
    """contract: Command line: an empty table is no table."""
    service.answers({"days": []})
    done = call("usage")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "nothing was used\n")


@pytest.mark.parametrize(
    ("payload", "status", "code"),
    [
        ({"error": "forbidden", "hint": "class"}, 403, 3),
        ({"error": "unauthorized", "hint": ""}, 401, 3),
        ({"error": "usage unavailable", "hint": ""}, 503, 5),
        ({"error": "proxy", "hint": ""}, 503, 4),
        ({"days": 5}, 200, 1),
        ({"error": "internal error", "hint": ""}, 500, 1),
    ],
)
def test_refused_usage_ends_with_its_code(
    call: Any, service: Any, payload: dict[str, Any], status: int, code: int
) -> None:
    """contract: Command line: the exit codes of the table; stdout stays empty."""
    service.answers(payload, status)
    done = call("usage")
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("sift: ")


def test_days_out_of_range_are_a_usage_error(call: Any, service: Any) -> None:
    """contract: Command line: refused before anything is sent."""
    assert call("usage", "--days", "91").returncode == 2
    assert service.asked == []
