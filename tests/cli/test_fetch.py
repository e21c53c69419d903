"""`sift fetch`: a page as text."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from sift.cli.flags import flags_of, takes
from sift.cli.terminal import printable_lines
from sift.fetch.fields import FIELDS
from tests.cli.conftest import PAGE
from tests.cli.terminal import Open

URL = "https://needle.example/1"
HOSTILE = "a\x1b[31mred\x1b[0m\x1b]0;title\x07b\x9b2Jc\x85d\u202ee\x7ff\x00g\rh\u2028i\u2066j"
CLEAN = "aredbcdefghij"


# --- what is asked -------------------------------------------------------------------------------------------------


def test_every_flag_set_posts_its_field(run: Any, service: Any) -> None:
    """contract: Fetch command: each flag becomes the field it stands for, with its JSON type."""
    done = run(
        *("fetch", URL, "--format", "text", "--max-chars", "2000", "--start", "40"),
        *("--max-age", "0", "--timeout", "2.5", "--json"),
    )
    assert done.returncode == 0
    ((path, headers, body),) = service.asked
    assert (path, headers["Authorization"]) == ("/v1/fetch", "Bearer sift_abcdefgh_" + "s" * 43)
    assert body == {"url": URL, "format": "text", "max_chars": 2000, "start": 40, "max_age": 0, "timeout": 2.5}


def test_no_flag_set_posts_the_url_alone(call: Any, service: Any) -> None:
    """contract: Fetch command: unset fields are left out; defaults are the service's."""
    assert call("fetch", URL).returncode == 0
    assert service.body == {"url": URL}


def test_every_field_but_the_url_has_a_flag() -> None:
    """contract: Fetch command: whatever can be asked over HTTP can be asked from a shell."""
    assert flags_of(FIELDS) == {
        "format": "--format",
        "max_chars": "--max-chars",
        "start": "--start",
        "max_age": "--max-age",
        "timeout": "--timeout",
    }


WRONG = {
    "no url": ((), "URL"),
    "two urls": ((URL, URL), "unexpected extra argument"),
    "format": ((URL, "--format", "html"), "--format"),
    "chars below": ((URL, "--max-chars", "999"), "--max-chars"),
    "chars above": ((URL, "--max-chars", "200001"), "--max-chars"),
    "chars fraction": ((URL, "--max-chars", "2000.5"), "--max-chars"),
    "start below": ((URL, "--start", "-1"), "--start"),
    "start above": ((URL, "--start", "10000001"), "--start"),
    "age above": ((URL, "--max-age", "86401"), "--max-age"),
    "age nan": ((URL, "--max-age", "nan"), "--max-age"),
    "timeout below": ((URL, "--timeout", "0.9"), "--timeout"),
    "timeout above": ((URL, "--timeout", "31"), "--timeout"),
    "timeout endless": ((URL, "--timeout", "inf"), "--timeout"),
    "flag of search": ((URL, "--k", "3"), "--k"),
}


@pytest.mark.parametrize(("arguments", "named"), WRONG.values(), ids=WRONG)
def test_wrong_usage_exits_2_and_asks_nothing(call: Any, service: Any, arguments: Any, named: str) -> None:
    """contract: Fetch command: a value that no request may hold is refused before anything is sent."""
    done = call("fetch", *arguments)
    assert (done.returncode, done.stdout, service.asked) == (2, "", [])
    assert named in done.stderr


# --- what is printed -----------------------------------------------------------------------------------------------


def test_text_is_title_url_date_a_blank_line_and_the_content(run: Any) -> None:
    """contract: Fetch command: the content keeps its lines, tabs and blanks; nothing else is on stdout."""
    done = run("fetch", URL)
    assert done.stdout == f"One\nhttps://a.example/one\n2026-09-28\n\n{PAGE['content']}\n"
    assert (done.returncode, done.stderr) == (0, "")


def test_page_without_title_and_date_keeps_the_url_second(call: Any, service: Any) -> None:
    """contract: Fetch command: the URL stands in for a title; a date that is not known takes no line."""
    service.answers({name: value for name, value in PAGE.items() if name not in ("title", "published_date")})
    assert call("fetch", URL).stdout.startswith("https://a.example/one\nhttps://a.example/one\n\n# One\n")


def test_json_is_the_envelope_alone(run: Any, service: Any) -> None:
    """contract: Fetch command: with --json stdout is the service's answer, and stderr is silent."""
    service.answers(PAGE | {"warnings": ["page cut at 10 MiB"], "next_start": 36})
    done = run("fetch", URL, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.dumps(json.loads(done.stdout)).encode() == service.content


def test_warnings_and_how_to_read_on_go_to_stderr(call: Any, service: Any) -> None:
    """contract: Fetch command: where more is left, the flag that reads on is named with its value."""
    service.answers(PAGE | {"warnings": ["page cut at 10 MiB"], "chars": 90_000, "next_start": 39_990})
    done = call("fetch", URL)
    assert done.returncode == 0
    assert done.stderr == ("warning: page cut at 10 MiB\nmore: the text has 90000 characters; --start 39990 reads on\n")


@pytest.mark.parametrize(("chars", "said"), [(0, "no text\n"), (90, "no text from there on: it has 90 characters\n")])
def test_empty_text_is_said_to_be_empty(call: Any, service: Any, chars: int, said: str) -> None:
    """contract: Fetch command: a page without text, and a start behind its end, are answers."""
    service.answers(PAGE | {"content": "", "chars": chars})
    done = call("fetch", URL)
    assert (done.returncode, done.stderr) == (0, said)


def test_text_of_a_page_cannot_drive_the_terminal(call: Any, service: Any) -> None:
    """contract: Fetch command: a page is hostile in every byte: control sequences, control and bidi characters go."""
    service.answers(
        PAGE
        | dict.fromkeys(("final_url", "title", "published_date"), HOSTILE)
        | {"content": f"{HOSTILE}\n\t{HOSTILE}", "warnings": [HOSTILE]}
    )
    text, as_json = call("fetch", URL), call("fetch", URL, "--json")
    assert text.stdout.splitlines()[-2:] == [CLEAN, f"\t{CLEAN}"]
    assert text.stderr == "warning: aredbc defg h ij\n"
    assert json.loads(as_json.stdout)["content"] == f"{HOSTILE}\n\t{HOSTILE}"
    for shown in (text.stdout, text.stderr, as_json.stdout):
        assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e\u2066]", shown) is None


def test_printable_lines_of_a_hostile_length_ends() -> None:
    """contract: Fetch command: cleaning takes linear time, and no sequence reaches beyond its line."""
    for bait in ("\x9d", "\x1b]", "\x1b[", "\x9b0", "\x1b ", "\x1b]x", "\x1b\x1b[0m["):
        assert len(printable_lines(bait * 100_000)) <= 300_000
    assert printable_lines("\x1b]0;never ended\nnext\r\n\ttab \x1b\x1b[0m[2J") == "0;never ended\nnext\n\ttab [2J"


def test_encoding_lacks_characters_they_are_replaced(run: Any, service: Any) -> None:
    """contract: Fetch command: a narrow terminal gets replacements, JSON escapes that lose nothing."""
    service.answers(PAGE | {"content": "日本"})
    locale = {"PYTHONIOENCODING": "ascii"}
    assert run("fetch", URL, **locale).stdout.endswith("\n\n??\n")
    assert json.loads(run("fetch", URL, "--json", **locale).stdout)["content"] == "日本"


@pytest.fixture
def show(open_terminal: Open) -> Callable[..., str]:
    """Return a function that runs the command on a terminal and returns what is on it in the end."""

    def start(*arguments: str, **settings: Any) -> str:
        terminal = open_terminal(*arguments, **settings)
        assert terminal.close() == 0
        return terminal.shown

    return start


def test_on_a_terminal_remarks_follow_the_text(show: Any, service: Any) -> None:
    """contract: Fetch command: they stay on the screen; the title is bold, the address in colour unless unwanted."""
    service.answers(PAGE | {"warnings": ["page cut at 10 MiB"], "next_start": 36})
    shown = show("fetch", URL)
    assert shown.startswith("\x1b[1mOne\x1b[0m\n\x1b[32mhttps://a.example/one\x1b[0m\n2026-09-28\n\n# One\n")
    assert shown.endswith("warning: page cut at 10 MiB\nmore: the text has 34 characters; --start 36 reads on\n")
    assert "\x1b" not in show("fetch", URL, TERM="dumb")
    assert "\x1b[32m" not in show("fetch", URL, NO_COLOR="1")


def test_long_wait_is_explained_and_the_line_erased(open_terminal: Open, service: Any) -> None:
    """contract: Fetch command: a person who waits for more than a second learns what for."""
    service.may_answer.clear()
    terminal = open_terminal("fetch", URL)
    assert terminal.read("...").endswith("waiting for the page ...")
    service.may_answer.set()
    assert terminal.close() == 0
    assert terminal.shown.partition("...")[2].startswith("\r\x1b[K")


# --- how it ends ---------------------------------------------------------------------------------------------------

REFUSALS = {
    "json": (400, "invalid json", "", 2, "invalid json"),
    "field": (400, "invalid fetch", "max_chars", 2, "--max-chars: a whole number from 1000 to 200000"),
    "url": (400, "invalid fetch", "url", 2, "URL: at most 4096 characters; http or https, and public"),
    "unauthorized": (401, "unauthorized", "", 3, "SIFT_TOKEN"),
    "foreign name": (403, "forbidden", "origin", 3, "names without a dot"),
    "forbidden": (403, "forbidden", "class", 3, "forbidden class"),
    "switched off": (404, "not found", "", 1, "opening pages is switched off there"),
    "large": (413, "request too large", "", 2, "too large"),
    "internal": (500, "internal error", "", 1, "500"),
    **{
        hint: (403, "url not allowed", hint, 6, f"not allowed: .*{words}")
        for hint, words in {
            "scheme": "http:// or https://",
            "port": "80, 443",
            "address": "not public",
            "name": "localhost",
            "userinfo": "password",
            "form": "not written",
            "later": "refuses",
        }.items()
    },
    "robots": (403, "robots disallow", "", 6, "robots.txt"),
    "type": (415, "unsupported content type", "", 7, "neither HTML"),
    **{
        hint or "none": (502, "fetch failed", hint, 7, f"could not be had: .*{words}")
        for hint, words in {
            "address": "not public",
            "dns": "resolved",
            "connect": "connection",
            "tls": "certificate",
            "unreachable": "reached",
            "redirects": "redirects",
            "encoding": "compression",
            "too large": "too large",
            "bad response": "no proper answer",
            "status 404": "status 404",
            "": "does not say",
        }.items()
    },
    "late": (504, "fetch timeout", "", 7, "--timeout"),
    "busy": (503, "busy", "", 8, "too many pages"),
}


@pytest.mark.parametrize(("status", "error", "hint", "code", "named"), REFUSALS.values(), ids=REFUSALS)
def test_failure_ends_with_its_code_and_one_line(
    call: Any, service: Any, status: int, error: str, hint: str, code: int, named: str
) -> None:
    """contract: Fetch command: each failure has its exit code and its words; the address is not repeated."""
    service.answers({"error": error, "hint": hint}, status)
    text, as_json = call("fetch", URL), call("fetch", URL, "--json")
    assert (text.returncode, text.stdout) == (code, "")
    assert re.fullmatch(rf"sift: .*{named}.*\n", text.stderr)
    assert "needle" not in text.stderr
    assert (as_json.returncode, json.loads(as_json.stdout), as_json.stderr) == (
        code,
        service_error(service),
        text.stderr,
    )


def service_error(service: Any) -> Any:
    return json.loads(service.content)


def test_hint_of_a_status_cannot_drive_the_terminal(call: Any, service: Any) -> None:
    """contract: Fetch command: no word of an answer is printed as it came."""
    service.answers({"error": "fetch failed", "hint": f"status {HOSTILE}"}, 502)
    assert (
        call("fetch", URL).stderr == "sift: the page could not be had: its host answered with status aredbc defg h ij\n"
    )


def test_busy_service_says_when_to_try_again(call: Any, service: Any) -> None:
    """contract: Fetch command: Retry-After is in the message."""
    service.answers({"error": "busy", "hint": ""}, 503)
    service.headers = {"Retry-After": "1"}
    assert call("fetch", URL).stderr == "sift: the service is opening too many pages; try again in 1 s\n"


def test_proxy_without_a_service_exits_4(call: Any, service: Any) -> None:
    """contract: Fetch command: a proxy's own 502 says nothing of the page."""
    service.answers({"error": "bad gateway", "hint": ""}, 502)
    done = call("fetch", URL)
    assert (done.returncode, done.stdout) == (4, "")
    assert "a proxy answered for it, with status 502" in done.stderr


def test_foreign_answer_exits_1(call: Any, service: Any) -> None:
    """contract: Fetch command: what is no page of Sift's is not shown."""
    service.answers({"results": [], "warnings": []})
    done = call("fetch", URL)
    assert (done.returncode, done.stdout) == (1, "")
    assert "something that is not Sift answered" in done.stderr


def test_broken_pipe_is_silent(environ: Any, service: Any) -> None:
    """contract: Fetch command: `sift fetch URL | head -n1` exits with 0, silently."""
    service.answers(PAGE | {"content": "line\n" * 40_000})
    done = subprocess.run(
        ["bash", "-c", f"sift fetch {URL} | head -n1; echo ${{PIPESTATUS[0]}}"],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("One\n0\n", "")


def test_field_the_service_refuses_is_explained_in_flags() -> None:
    """contract: Fetch command: what a field takes, in one line."""
    assert takes("format", FIELDS) == "markdown or text"
    assert takes("timeout", FIELDS) == "a number from 1 to 30"
