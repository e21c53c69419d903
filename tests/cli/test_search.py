from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sift.cli.terminal import document, printable
from tests.cli.conftest import ENVELOPE

SIFT_SEARCH = ("sift", "search")
HOSTILE = "a\x1b[31mred\x1b[0m\x1b]0;title\x07b\x9b2Jc\x85d\u202ee\x7ff\x00g\rh\u2028i\u2066j"


def only(hit: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"queries": ["x"], "results": [hit] if hit else [], "warnings": [], **more}


# --- what is asked -------------------------------------------------------------------------------------------------


def test_every_flag_set_posts_its_field(run: Any, service: Any) -> None:
    """contract: Command line: each flag becomes the field it stands for, with its JSON type."""
    done = run(
        *("search", 'say "x"', "--k", "3", "--no-rerank", "--json", "--domains-mode", "prefer"),
        *("--include-domain", "a.example", "--include-domain", "b.example", "--exclude-domain", "c.example"),
        *("--time-range", "month", "--start-date", "2026-09-01", "--end-date", "2026-09-29", "--topic", "news"),
        *("--exact-match", "--min-score", "0.5", "--explain"),
    )
    assert done.returncode == 0
    path, headers, body = service.asked[0]
    assert (len(service.asked), path, headers["Content-Type"]) == (1, "/v1/search", "application/json")
    assert body == {
        "query": 'say "x"',
        "k": 3,
        "rerank": False,
        "include_domains": ["a.example", "b.example"],
        "exclude_domains": ["c.example"],
        "include_domains_mode": "prefer",
        "time_range": "month",
        "start_date": "2026-09-01",
        "end_date": "2026-09-29",
        "topic": "news",
        "exact_match": True,
        "min_score": 0.5,
        "explain": True,
    }


def test_no_flag_set_posts_the_query_alone(run: Any, service: Any) -> None:
    """contract: Command line: unset fields are left out; defaults are the service's."""
    assert run("search", "--", "-ü 日本").returncode == 0
    assert service.body == {"query": "-ü 日本"}
    assert service.asked[0][1]["Authorization"] == "Bearer sift_abcdefgh_" + "s" * 43


@pytest.mark.parametrize(
    "locale", [{}, {"LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}], ids=["utf-8", "LANG=C"]
)
def test_queries_file_with_bom_and_crlf_is_read_as_utf8(run: Any, service: Any, tmp_path: Path, locale: Any) -> None:
    """contract: Command line: UTF-8 whatever the locale; a byte order mark and CRLF do no harm."""
    file = tmp_path / "queries.json"
    file.write_bytes(b"\xef\xbb\xbf[\r\n" + '"für",\r\n"日本"'.encode() + b"\r\n]\r\n")
    assert run("search", "--queries-file", str(file), **locale).returncode == 0
    assert service.body == {"queries": ["für", "日本"]}


def test_words_without_quotes_are_one_query(call: Any, service: Any) -> None:
    """contract: Command line: several words are joined, with flags among them or not."""
    assert call("search", "asyncio", "task", "--k", "3", "group").returncode == 0
    assert service.body == {"query": "asyncio task group", "k": 3}


def test_queries_are_read_from_standard_input(environ: Any, service: Any) -> None:
    """contract: Command line: the path `-` is standard input."""
    command = (*SIFT_SEARCH, "--queries-file", "-", "--json")
    done = subprocess.run(command, env=environ, input=b'["one", "two"]', capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert service.body == {"queries": ["one", "two"]}
    closed = subprocess.run(
        ["bash", "-c", "sift search --queries-file - <&-"], env=environ, capture_output=True, check=False
    )
    assert closed.returncode == 2
    assert b"--queries-file" in closed.stderr


BAD_FILES = {
    "absent": None,
    "object": b"{}",
    "no query": b"[]",
    "five": b'["1", "2", "3", "4", "5"]',
    "number": b"[1]",
    "latin-1": '["\xfc"]'.encode("latin-1"),
    "deep": b"[" * 100_000,
    "huge": b'["' + b"x" * 2_000_000 + b'"]',
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
def test_bad_queries_file_is_a_usage_error(call: Any, service: Any, tmp_path: Path, content: bytes | None) -> None:
    """contract: Command line: each bad file is a usage error that names the flag; nothing is asked."""
    file = tmp_path / "queries.json"
    if content is not None:
        file.write_bytes(content)
    done = call("search", "--queries-file", str(file))
    assert (done.returncode, done.stdout, service.asked) == (2, "", [])
    assert "--queries-file" in done.stderr


USAGE = {
    "no query": ((), "QUERY"),
    "directory": (("--queries-file", "/"), "--queries-file"),
    "endless": (("--queries-file", "/dev/zero"), "--queries-file"),
    "words and file": (("x", "y", "--queries-file", "/dev/null"), "--queries-file"),
    "unknown": (("x", "--domain", "a.example"), "--domain"),
}


@pytest.mark.parametrize(("arguments", "named"), USAGE.values(), ids=USAGE)
def test_wrong_usage_exits_2_and_asks_nothing(call: Any, service: Any, arguments: Any, named: str) -> None:
    """contract: Command line: wrong usage is exit code 2 and a message on stderr that names what is wrong."""
    done = call("search", *arguments)
    assert (done.returncode, done.stdout, service.asked) == (2, "", [])
    assert named in done.stderr


BAD_SETTINGS = {
    "no scheme": {"SIFT_URL": "127.0.0.1:8787"},
    "user": {"SIFT_URL": "http://user:secret@127.0.0.1"},
    "token": {"SIFT_TOKEN": "se cret"},
}


@pytest.mark.parametrize("setting", BAD_SETTINGS.values(), ids=BAD_SETTINGS)
def test_bad_setting_is_a_usage_error_naming_it(call: Any, service: Any, setting: dict[str, str]) -> None:
    """contract: Command line: a bad SIFT_URL or SIFT_TOKEN is named, in one line that does not show it."""
    done = call("search", "x", **setting)
    assert (done.returncode, done.stdout, service.asked) == (2, "", [])
    assert done.stderr.startswith(f"sift: {next(iter(setting))} ")
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr
    assert "se cret" not in done.stderr


# --- what is printed -----------------------------------------------------------------------------------------------


def test_explanation_is_not_mixed_into_piped_text(run: Any, service: Any) -> None:
    """contract: Command line: four lines a hit, whatever was asked; `--json` has the explanation."""
    why = [{"query": 1, "source": "searxng", "rank": 1, "share": 1 / 61}]
    hits = [hit | {"why": why, "copies": []} for hit in ENVELOPE["results"]]
    service.answers(ENVELOPE | {"results": hits, "explain": {"sources": []}})
    assert run("search", "x", "--explain").stdout == run("search", "x").stdout
    assert "#1" not in run("search", "x", "--explain").stdout
    assert json.loads(run("search", "x", "--explain", "--json").stdout)["results"] == hits


PLAN = {
    "queries": ["x"],
    "cached": False,
    "sources": [
        {"source": "searxng", "asked": True, "calls": 1, "credits": 0, "filters": {"topic": "native"}, "notes": []},
        {
            "source": "tavily",
            "asked": "daily cap",
            "calls": 0,
            "credits": 0,
            "filters": {},
            "notes": ["tavily: query cut to 400 characters"],
            "queries": ["\x1b[31mxx"],
        },
    ],
    "credits": {"most": 2, "left": {"tavily": None}},
    "worst_case_seconds": 8,
    "warnings": ["unknown field ignored: y"],
}


def test_plan_is_asked_for_and_shown(call: Any, service: Any) -> None:
    """contract: Command line: `--plan` posts the same fields to /v1/plan; calls, filters, notes, costs, time."""
    service.answers(PLAN)
    done = call("search", "x", "--plan", "--topic", "news")
    assert (service.asked[0][0], service.body) == ("/v1/plan", {"query": "x", "topic": "news"})
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "searxng: 1 call",
        "    topic: native",
        "tavily: not asked (daily cap)",
        "    note: query cut to 400 characters",
        "    query as cut: xx",
        "credits: at most 2, unknown left for tavily",
        "time: at most 8 s",
    ]
    assert done.stderr == "warning: unknown field ignored: y\n"


def test_plan_of_a_cached_search_says_so_first(call: Any, service: Any) -> None:
    """contract: Command line: the first line is the answer."""
    service.answers(PLAN | {"cached": True})
    assert call("search", "x", "--plan").stdout.splitlines()[0] == "cached: nobody would be asked"


def test_plan_as_json_is_the_plan_alone(call: Any, service: Any) -> None:
    """contract: Command line: `--json` prints the service's JSON and nothing else."""
    service.answers(PLAN)
    done = call("search", "x", "--plan", "--json")
    assert (json.loads(done.stdout), done.stderr) == (PLAN, "")


@pytest.mark.parametrize(
    ("payload", "status", "code"),
    [
        ({"error": "invalid search", "hint": "k"}, 400, 2),
        ({"error": "unauthorized", "hint": ""}, 401, 3),
        ({"results": [], "warnings": []}, 200, 1),
        ({"error": "x", "hint": ""}, 502, 4),
    ],
)
def test_plan_that_is_refused_ends_as_a_search_does(
    call: Any, service: Any, payload: dict[str, Any], status: int, code: int
) -> None:
    """contract: Command line: the same exit codes."""
    service.answers(payload, status)
    done = call("search", "x", "--plan")
    assert (done.returncode, done.stdout) == (code, "")


def test_text_is_title_url_snippet_and_a_known_date(run: Any) -> None:
    """contract: Command line: the date is the fourth line, hits are parted by a blank line, warnings go to stderr."""
    done = run("search", "x")
    assert done.stdout == (
        "One\nhttps://a.example/1\nfirst and more\n\nTwo\nhttps://b.example/2\nsecond\nMon, 28 Sep 2026 10:00:00 GMT\n"
    )
    assert (done.returncode, done.stderr) == (0, "warning: brave_llm: timeout\n")


def test_a_hit_without_snippet_keeps_the_date_fourth(call: Any, service: Any) -> None:
    """contract: Command line: an empty snippet does not change the date's line, nor end the hit."""
    service.answers(only({"url": "https://a.example/", "title": "", "snippet": "", "published_date": "2026-09-28"}))
    assert call("search", "x").stdout == "https://a.example/\nhttps://a.example/\n(no snippet)\n2026-09-28\n"


def test_json_is_the_envelope_alone(run: Any, service: Any) -> None:
    """contract: Command line: with --json stdout is one JSON document, the envelope in its own order,
    and stderr is silent.
    """
    done = run("search", "x", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.dumps(json.loads(done.stdout)).encode() == service.content


def test_no_hits_exit_0_in_text_and_json(call: Any, service: Any) -> None:
    """contract: Command line: finding nothing is a valid answer."""
    service.answers(only({}))
    text, as_json = call("search", "x"), call("search", "x", "--json")
    assert (text.returncode, text.stdout, text.stderr) == (0, "", "no hits\n")
    assert (as_json.returncode, json.loads(as_json.stdout)["results"]) == (0, [])


def test_vendor_text_cannot_drive_the_terminal(call: Any, service: Any) -> None:
    """contract: Command line: control sequences, control and bidi characters never reach the terminal,
    in neither form.
    """
    hit = dict.fromkeys(("url", "title", "snippet", "published_date"), HOSTILE)
    service.answers(only(hit, warnings=[HOSTILE]))
    text, as_json = call("search", "x"), call("search", "x", "--json")
    assert set(text.stdout.splitlines()) == {"aredbc defg h ij"}
    assert text.stderr == "warning: aredbc defg h ij\n"
    assert json.loads(as_json.stdout)["results"] == [hit]
    for shown in (text.stdout, text.stderr, as_json.stdout, as_json.stderr):
        assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202e\u2066]", shown) is None


@pytest.mark.parametrize(
    "locale",
    [{"PYTHONIOENCODING": "ascii"}, {"LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["PYTHONIOENCODING", "LANG=C"],
)
def test_narrow_terminal_gets_replacements(run: Any, service: Any, locale: dict[str, str]) -> None:
    """contract: Command line: what the encoding lacks is replaced, in JSON by escapes that lose nothing."""
    hit = {"url": "https://a.example/", "title": "日本", "snippet": "ü"}
    service.answers(only(hit, warnings=["日"]))
    text, as_json = run("search", "x", **locale), run("search", "x", "--json", **locale)
    assert (text.returncode, text.stdout) == (0, "??\nhttps://a.example/\n?\n")
    assert (as_json.returncode, json.loads(as_json.stdout)["results"]) == (0, [hit])
    assert as_json.stdout.isascii()


def test_printable_folds_and_strips() -> None:
    """contract: Command line: sequences are removed, of unfinished ones the control character; other scripts stay."""
    assert printable("  a \n\t b\u00a0c ") == "a b c"
    assert printable("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\") == "link"
    assert printable("\x1bPq#0\x1b\\x\x9dtitle\x9cy\x1b(0z\x1bc") == "xyz"
    assert printable("\x1b]0;never ended") == "0;never ended"
    assert printable("日本 ü \u200d👩\u200d🔬 \ud800") == "日本 ü \u200d👩\u200d🔬 "


def test_printable_of_a_hostile_length_ends() -> None:
    """contract: Command line: cleaning takes linear time; with backtracking each of these takes minutes."""
    for bait in ("\x9d", "\x1b]", "\x1b[", "\x9b0", "\x1b ", "\x1b]x"):
        assert len(printable(bait * 100_000)) <= 100_000


def test_document_keeps_other_scripts_readable() -> None:
    """contract: Command line: JSON escapes what a terminal interprets, and not what an agent must read."""
    assert document({"t": "日\x9b\x7f\u202e\ud800"}, "utf-8") == '{"t": "日\\u009b\\u007f\\u202e\\ud800"}'
    assert document({"t": "日"}, "ascii") == '{"t": "\\u65e5"}'


# --- how it ends ---------------------------------------------------------------------------------------------------

REFUSALS = {
    "query": (400, "invalid query", "", 2, "QUERY"),
    "field": (400, "invalid search", "rerank", 2, "--no-rerank"),
    "field without a flag": (400, "invalid search", "later", 2, "later"),
    "json": (400, "invalid json", "", 2, "invalid json"),
    "large": (413, "request too large", "", 2, "too large"),
    "unauthorized": (401, "unauthorized", "", 3, "SIFT_TOKEN"),
    "forbidden": (403, "forbidden", "class", 3, "forbidden"),
    "foreign name": (403, "forbidden", "origin", 3, "names without a dot"),
    "not found": (404, "not found", "", 1, "SIFT_URL"),
    "internal": (500, "internal error", "", 1, "500"),
}


@pytest.mark.parametrize(("status", "error", "hint", "code", "named"), REFUSALS.values(), ids=REFUSALS)
def test_refusal_ends_with_its_code_and_one_line(
    call: Any, service: Any, status: int, error: str, hint: str, code: int, named: str
) -> None:
    """contract: Command line: each status has its exit code; the one line names the flag a hint stands for."""
    service.answers({"error": error, "hint": hint}, status)
    done = call("search", "needle")
    assert (done.returncode, done.stdout) == (code, "")
    assert re.fullmatch(rf"sift: .*{named}.*\n", done.stderr)
    assert "needle" not in done.stderr


def test_unavailable_names_the_reasons(call: Any, service: Any) -> None:
    """contract: Unavailable, Command line: a 503's warnings reach stderr, or with --json stdout in the error object."""
    payload = {"error": "search unavailable", "hint": "", "warnings": ["tavily: daily cap"], "sources_failed": []}
    service.answers(payload, 503)
    text, as_json = call("search", "x"), call("search", "x", "--json")
    assert (text.stdout, text.stderr.splitlines()[0]) == ("", "warning: tavily: daily cap")
    assert (as_json.returncode, json.loads(as_json.stdout)) == (5, payload)
    assert as_json.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(1, "1 s"), (120, "120 s"), (121, "3 min"), (7200, "120 min"), (7201, "3 h"), (80_000, "23 h")],
)
def test_wait_that_is_known_is_shown(call: Any, service: Any, seconds: int, shown: str) -> None:
    """contract: Unavailable, Command line: Retry-After of a 503 is in the message, in a readable unit."""
    service.answers({"error": "search unavailable", "hint": "", "warnings": [], "sources_failed": []}, 503)
    service.headers = {"Retry-After": str(seconds)}
    for more in ((), ("--json",)):
        done = call("search", "x", *more)
        assert (done.returncode, done.stderr) == (
            5,
            f"sift: the service answered 503: search unavailable; try again in {shown}\n",
        )


def test_error_of_a_proxy_exits_4(call: Any, service: Any) -> None:
    """contract: Command line: a 503 that is not Sift's means that Sift cannot be reached."""
    service.answers({"success": False, "error": "sift does not answer", "hint": "", "details": ""}, 503)
    done = call("search", "x", "--json")
    assert (done.returncode, done.stdout) == (4, "")
    assert "a proxy answered for it, with status 503" in done.stderr


@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["text", "json"])
def test_unreachable_exits_4(run: Any, as_json: tuple[str, ...]) -> None:
    """contract: Command line: a server that is down is exit code 4, with one line on stderr and nothing on stdout."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound but not listening, so that nobody else can take the port
        done = run("search", "needle", *as_json, SIFT_URL=f"http://127.0.0.1:{closed.getsockname()[1]}")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (4, "", 1)
    assert "needle" not in done.stderr


FOREIGN = {
    "html": (200, b"<html>\x1b[31mlog in</html>"),
    "redirect": (302, b""),
    "other json": (200, b'{"status": "ok"}'),
    "broken hit": (200, b'{"results": ["x"], "warnings": []}'),
    "nan": (200, b'{"results": [{"score": NaN}], "warnings": []}'),
    "deep": (200, b"[" * 100_000),
}


@pytest.mark.parametrize(("status", "content"), FOREIGN.values(), ids=FOREIGN)
def test_foreign_answer_exits_1(call: Any, service: Any, status: int, content: bytes) -> None:
    """contract: Command line: a foreign answer is exit code 1; none of it is shown, and no redirect is followed."""
    service.status, service.content = status, content
    service.headers = {"Location": service.url + "/elsewhere"} if status == 302 else {}
    done = call("search", "x", "--json")
    assert (done.returncode, done.stdout, len(service.asked)) == (1, "", 1)
    assert re.fullmatch(r"sift: something that is not Sift answered[ -~]*\n", done.stderr)


def test_broken_pipe_is_silent(environ: Any, service: Any) -> None:
    """contract: Command line: `sift search x | head -n1` exits with 0, silently,
    even at the interpreter's final flush.
    """
    service.may_answer.clear()
    process = subprocess.Popen(
        (*SIFT_SEARCH, "x", "--json"), env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert service.arrived.wait(30)
        process.stdout.close()  # the reader has left before the first byte
        service.may_answer.set()
        assert process.stderr.read() == b""
    assert process.returncode == 0


def test_ctrl_c_is_silent(environ: Any, service: Any) -> None:
    """contract: Command line: an interrupt is exit code 130, as shells have it, without a traceback."""
    service.may_answer.clear()
    process = subprocess.Popen(
        # A shell without job control starts background programs with the signal ignored, these tests among them.
        ("env", "--default-signal=INT", *SIFT_SEARCH, "x"),
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert service.arrived.wait(30)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=30) == (b"", b"")
    assert process.returncode == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_full_disk_is_one_line(environ: Any) -> None:
    """contract: Command line: an unexpected exception is exit code 1 and its type in one line."""
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            (*SIFT_SEARCH, "x"), env=environ, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert (done.returncode, done.stderr.splitlines()[1:]) == (1, [b"sift: internal error: OSError"])


def test_closed_stderr_leaves_stdout_pure(environ: Any, service: Any) -> None:
    """contract: Command line: with stderr closed, no warning or error ends up on stdout."""
    script = 'sift search x --k 1 2>&- ; sift search x --queries-file / 2>&- ; SIFT_URL=x sift search x 2>&-; echo "$?"'
    service.answers(only({}, warnings=["tavily: timeout"]))
    done = subprocess.run(["bash", "-c", script], env=environ, stdout=subprocess.PIPE, check=False, timeout=60)
    assert done.stdout == b"2\n"


def test_version_module_and_command_agree(run: Any, environ: Any) -> None:
    """contract: Command line: `sift --version` and `python -m sift --version` agree."""
    module = subprocess.run(
        ["python", "-m", "sift", "--version"], env=environ, capture_output=True, check=True, timeout=60, text=True
    )
    assert module.stdout == run("--version").stdout
    assert re.fullmatch(r"sift \d+\.\d+\.\d+\n", module.stdout)


# --- the connection ------------------------------------------------------------------------------------------------


def test_loopback_call_ignores_proxy_and_netrc(run: Any, service: Any, tmp_path: Path) -> None:
    """contract: Command line: on loopback neither a proxy nor a .netrc of the user comes between,
    and the token stays.
    """
    netrc = tmp_path / "netrc"
    netrc.write_text("default login other password other\n")
    dead = "http://127.0.0.1:9"
    done = run("search", "x", NETRC=str(netrc), http_proxy=dead, HTTP_PROXY=dead, all_proxy=dead)
    assert done.returncode == 0
    assert service.asked[0][1]["Authorization"] == "Bearer sift_abcdefgh_" + "s" * 43
