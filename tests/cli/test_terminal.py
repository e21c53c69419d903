"""What a person sees at a terminal: the command runs on a pseudo-terminal of a given size."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sift.cli.layout import columns, wrapped
from sift.cli.terminal import explained
from tests.cli.terminal import Open

WORDS = "A context manager defines what is to be set up and torn down around a block of code. " * 20
HIT = {
    "url": "https://docs.python.org/3/reference/datamodel.html#context-managers",
    "title": "With Statement Context Managers",
    "snippet": WORDS.strip(),
    "source": "searxng",
    "published_date": "2026-09-28",
}
STYLE = re.compile(r"\x1b\[(?:\d+)?m")


@pytest.fixture
def show(open_terminal: Open) -> Callable[..., str]:
    """Return a function that runs the command on a terminal and returns what is on it in the end."""

    def run(*arguments: str, **settings: Any) -> str:
        terminal = open_terminal(*arguments, **settings)
        assert terminal.close() == 0
        return terminal.shown

    return run


def answers(service: Any, *hits: dict[str, Any], warnings: tuple[str, ...] = ()) -> None:
    service.answers({"queries": ["x"], "results": hits, "warnings": warnings})


def test_hits_are_numbered_and_cut_to_the_screen(show: Any, service: Any) -> None:
    """contract: Command line: title, URL with source and date, three lines of snippet, none wider than the screen."""
    answers(service, *[HIT] * 10, warnings=("brave_llm: timeout",))
    blocks = STYLE.sub("", show("search", "x", rows=80)).split("\n\n")
    first = blocks[0].split("\n")
    assert len(blocks) == 10
    assert first[0] == " 1. With Statement Context Managers"
    assert first[1] == "    https://docs.python.org/3/reference/datamodel.html#context-managers"
    assert first[2] == "    searxng, 2026-09-28"
    assert len(first) == 3 + 3
    assert first[-1].endswith("…")
    assert all(line.startswith("    ") and len(line) <= 80 for line in first[1:])
    assert " ".join(line.strip() for line in first[3:])[:-2] in HIT["snippet"]
    assert blocks[9].startswith("10. With")
    assert blocks[9].endswith("\nwarning: brave_llm: timeout\n")  # below, where it stays on the screen


@pytest.mark.parametrize(("rows", "lines"), [(60, 3), (49, 2), (41, 1), (40, 3)])
def test_best_hit_stays_on_the_screen_if_it_can(show: Any, service: Any, rows: int, lines: int) -> None:
    """contract: Command line: snippets have fewer lines where the list would not fit, and three where it cannot."""
    answers(service, *[HIT] * 8, warnings=("brave_llm: timeout",))
    blocks = STYLE.sub("", show("search", "x", rows=rows)).split("\n\n")
    assert [len(block.split("\n")) for block in blocks[:7]] == [3 + lines] * 7


def test_source_stands_beside_a_short_url(show: Any, service: Any) -> None:
    """contract: Command line: a hit takes as few lines as it can; a snippet that fits has no ellipsis."""
    answers(service, HIT | {"url": "https://a.example/", "snippet": "Short."})
    assert STYLE.sub("", show("search", "x")) == (
        "1. With Statement Context Managers\n   https://a.example/  searxng, 2026-09-28\n   Short.\n"
    )


def test_full_shows_the_whole_snippet(show: Any, service: Any) -> None:
    """contract: Command line: `--full` wraps the snippet and does not cut it."""
    answers(service, HIT)
    lines = STYLE.sub("", show("search", "x", "--full", columns=100)).splitlines()
    assert " ".join(line.strip() for line in lines[2:]) == HIT["snippet"]
    assert max(map(len, lines)) <= 100


def test_title_is_bold_and_the_host_is_in_colour_unless_unwanted(show: Any, service: Any) -> None:
    """contract: Command line: NO_COLOR takes the colour, a dumb terminal all styles."""
    answers(service, HIT)
    bold, colour = "\x1b[1mWith Statement Context Managers\x1b[0m", "https://\x1b[32mdocs.python.org\x1b[0m/3/"
    coloured, plain, dumb = show("search", "x"), show("search", "x", NO_COLOR="1"), show("search", "x", TERM="dumb")
    assert bold in coloured
    assert colour in coloured
    assert bold in plain
    assert "\x1b[3" not in plain
    assert "\x1b" not in dumb


def test_text_of_others_cannot_style_the_screen(show: Any, service: Any) -> None:
    """contract: Command line: control sequences and bidi characters of a hit are gone before it is laid out."""
    hostile = "a\x1b[31mred\x1b[0m\x1b]0;title\x07b\u202ec\x9b2J"
    answers(service, dict.fromkeys(HIT, hostile))
    assert re.sub(r"\x1b\[(?:1|2|32|0)m", "", show("search", "x")).split() == [
        *("1.", "aredbc", "aredbc", "aredbc,", "aredbc", "aredbc")
    ]


EXPLAIN = {
    "sources": [
        {"source": "searxng", "query": 1, "outcome": "ok", "ms": 212, "hits": 20, "credits": 0},
        {"source": "tavily", "query": 1, "outcome": "daily cap", "ms": 0, "hits": 0, "credits": 0},
    ],
    "dropped": {"unusable": 0, "repeats": 26, "min_score": 2, "domains": 4, "beyond_k": 23},
    "credits": {"spent": 1, "saved": 0, "left": {"tavily": 28}},
    "ms": {"total": 231, "sources": 212, "merge": 3},
}


def test_explained_answer_has_a_line_under_each_hit_and_a_table(show: Any, service: Any) -> None:
    """contract: Command line: which lists hold it at which rank, the score; then sources, rows, credits and times."""
    why = [{"query": 1, "source": "searxng", "rank": 1, "share": 1 / 61}]
    why.append({"query": 1, "source": "tavily", "rank": 4, "share": 1 / 64})
    hit = HIT | {"score": 0.03201, "why": why, "copies": []}
    service.answers({"queries": ["x"], "results": [hit], "warnings": [], "explain": EXPLAIN})
    shown = STYLE.sub("", show("search", "x", "--explain", rows=80))
    hits, table = shown.split("\n\n")
    assert hits.split("\n")[-1] == "   searxng #1 · tavily #4 → 0.0320"
    assert table.split("\n")[:-1] == [
        "source   query  outcome     ms  hits  credits",
        "searxng      1  ok         212    20        0",
        "tavily       1  daily cap    0     0        0",
        "dropped: 26 repeats, 2 under min_score, 4 by domain, 23 beyond k",
        "credits: 1 spent, 0 saved, 28 left for tavily",
        "ms: 231 in all, 212 for the sources, 3 for merging",
    ]
    assert service.body == {"query": "x", "explain": True}


def test_line_of_several_queries_names_the_query(show: Any, service: Any) -> None:
    """contract: Command line: the same source may hold a hit for several queries. Plain characters where it must be."""
    entry = {"source": "searxng", "rank": 2, "place": 1, "share": 1 / 61}
    hit = HIT | {"score": 0.0328, "why": [entry | {"query": 1}, entry | {"query": 2}], "copies": []}
    service.answers({"queries": ["x", "y"], "results": [hit], "warnings": []})
    shown = STYLE.sub(
        "", show("search", "x", "--explain", rows=80, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    )
    assert shown.split("\n")[-2] == "   query 1 searxng #2 - query 2 searxng #2 -> 0.0328"


def test_explanation_of_others_cannot_style_the_screen(show: Any, service: Any) -> None:
    """contract: Command line: control sequences never reach the terminal, not in a name or an outcome either."""
    explain = EXPLAIN | {"sources": [EXPLAIN["sources"][0] | {"outcome": "\x1b[31mred"}]}  # type: ignore[index]
    service.answers({"queries": ["x"], "results": [], "warnings": [], "explain": explain})
    assert "\x1b[31m" not in show("search", "x", "--explain", rows=80)


def test_long_wait_is_explained_and_the_line_erased(open_terminal: Open, service: Any) -> None:
    """contract: Command line: a person who waits for more than a second learns what for."""
    service.may_answer.clear()
    terminal = open_terminal("search", "x")
    assert terminal.read("...").endswith("waiting for the slowest source (one query) ...")
    service.may_answer.set()
    assert terminal.close() == 0
    assert terminal.shown.partition("...")[2].startswith("\r\x1b[K")


def test_wait_is_not_explained_when_output_is_piped(capsys: pytest.CaptureFixture[str]) -> None:
    """contract: Command line: programs that read the output see no such line."""
    before = threading.active_count()
    with explained("waiting", after=3600):
        assert threading.active_count() == before
    assert capsys.readouterr() == ("", "")


def test_wrapped_text_counts_columns_not_characters() -> None:
    """contract: Command line: wide characters take two columns, combining ones none; long words are broken."""
    assert list(wrapped("日本語 のテキスト", 6)) == ["日本語", "のテキ", "スト"]
    assert list(wrapped("one two three", 7)) == ["one two", "three"]
    assert list(wrapped("abcdefgh ij", 3)) == ["abc", "def", "gh", "ij"]
    assert columns("e\u0301日\u200b") == 3


def test_list_of_keys_has_a_header_on_a_terminal(show: Any, run: Any) -> None:
    """contract: Command line: people learn what the columns are, in 80 columns; programs get the keys alone."""
    run("key", "new", "--name", "bot twelve c", "--class", "restricted")
    header, row = show("key", "list").splitlines()
    assert header.split() == ["ID", "CLASS", "STATE", "CREATED", "(UTC)", "EXPIRES", "(UTC)", "NAME"]
    assert header.index("NAME") == row.index("bot")
    assert len(row) == 80
    piped = run("key", "list").stdout
    assert piped.count("\n") == 1
    assert piped.startswith(row[:30])
    assert re.search(r"restricted  active    [\d-]+T[\d:]+Z  never", piped)


def test_list_of_commands_is_whole_at_80_columns(show: Any) -> None:
    """contract: Command line: no description in a list of commands is cut."""
    listed = [show(*more, "--help").partition("Commands:")[2] for more in ((), ("key",))]
    assert all(listed)
    assert "..." not in "".join(listed)
