"""`sift batch submit`: what is asked, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sift.batch.fields import FIELDS
from sift.cli.flags import flags_of, takes
from tests.cli.batches import ID, failed
from tests.cli.conftest import ENVELOPE, SIFT
from tests.cli.terminal import Open
from tests.waiting import wait_for

ONE, TWO, THREE = (f"https://{name}.example/" for name in ("one", "two", "three"))
PIPE = 'sift search "words" --json | sift batch submit --from-search - --top 5 --wait'


# --- what is asked -------------------------------------------------------------------------------------------------


def test_pages_of_a_search_are_opened_as_the_recipe_is_printed(environ: Any, service: Any) -> None:
    """contract: Batch command: one pipe, as the skill and the README have it."""
    done = subprocess.run(["bash", "-c", PIPE], env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert service.batches.submitted == [{"urls": [hit["url"] for hit in ENVELOPE["results"]]}]
    assert [line for line in done.stdout.splitlines() if not line.startswith(" ")] == [
        *("1.  One", "", "", "", "", "2.  One", "", "", "")
    ]
    assert "2 of 2 pages" in done.stderr


def test_every_flag_set_posts_its_field(run: Any, service: Any) -> None:
    """contract: Batch command: each flag becomes the field it stands for, with its JSON type."""
    flags = ("--format", "text", "--max-chars", "2000", "--max-age", "0", "--ttl", "3600")
    done = run("batch", "submit", ONE, TWO, *flags, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    expected = {"urls": [ONE, TWO], "format": "text", "max_chars": 2000, "max_age": 0, "ttl": 3600}
    assert service.batches.submitted == [expected]
    assert json.loads(done.stdout)["id"] == ID
    assert service.asked[0][1]["Authorization"] == "Bearer sift_abcdefgh_" + "s" * 43


def test_every_field_but_the_urls_has_a_flag() -> None:
    """contract: Batch command: whatever can be asked over HTTP can be asked from a shell."""
    assert flags_of(FIELDS) == {
        "format": "--format",
        "max_chars": "--max-chars",
        "max_age": "--max-age",
        "ttl": "--ttl",
    }


def test_without_wait_the_id_alone_is_on_stdout(call: Any, service: Any) -> None:
    """contract: Batch command: `id=$(sift batch submit …)` works; stderr says how to go on."""
    done = call("batch", "submit", ONE)
    assert (done.returncode, done.stdout) == (0, f"{ID}\n")
    assert done.stderr == f"1 page: sift batch status {ID} --wait, then sift batch results {ID}\n"
    assert service.batches.submitted == [{"urls": [ONE]}]


WRONG = {
    "nothing": ((), "Give a URL"),
    "top below": ((ONE, "--top", "0"), "--top"),
    "top above": ((ONE, "--top", "101"), "--top"),
    "wait below": ((ONE, "--wait", "0"), "--wait"),
    "wait negative": ((ONE, "--wait", "-1"), "--wait"),
    "wait fraction": ((ONE, "--wait", "1.5"), "--wait"),
    "wait above": ((ONE, "--wait", "3601"), "--wait"),
    "chars below": ((ONE, "--max-chars", "999"), "--max-chars"),
    "ttl below": ((ONE, "--ttl", "3599"), "--ttl"),
    "ttl above": ((ONE, "--ttl", "604801"), "--ttl"),
    "format": ((ONE, "--format", "html"), "--format"),
    "domain": ((ONE, "--include-domain", "https://a.example/"), "--include-domain"),
    "domains": ((ONE, *(f"--exclude-domain=h{n}.example" for n in range(21))), "--exclude-domain"),
    "no file": ((ONE, "--urls-file", "/nonexistent/urls"), "--urls-file"),
    "no search": (("--from-search", "/nonexistent/answer"), "--from-search"),
    "one input twice": (("--urls-file", "-", "--from-search", "-"), "standard input"),
    "too many": (tuple(f"{ONE}{n}" for n in range(101)), "--top"),
}


@pytest.mark.parametrize(("arguments", "named"), WRONG.values(), ids=WRONG)
def test_wrong_usage_exits_2_and_asks_nothing(call: Any, service: Any, arguments: Any, named: str) -> None:
    """contract: Batch command: a value that no request may hold is refused before anything is sent."""
    done = call("batch", "submit", *arguments)
    assert (done.returncode, done.stdout, service.asked) == (2, "", [])
    assert named in done.stderr


def test_wait_needs_no_number_wherever_it_stands(call: Any, service: Any) -> None:
    """contract: Batch command: `--wait` takes no URL for its number, and a number where there is one."""
    for arguments in (
        ("--wait", ONE),
        (ONE, "--wait"),
        ("--wait", "30", ONE),
        ("--wait=30", ONE),
        ("--wait", "--", ONE),
    ):
        assert call("batch", "submit", *arguments).returncode == 0
        assert service.batches.submitted.pop() == {"urls": [ONE]}
    assert not service.batches.submitted


# --- one batch, however often it is sent ---------------------------------------------------------------------------


def test_lost_answer_is_asked_for_again_with_the_same_key(run: Any, service: Any) -> None:
    """contract: Batch command: the connection ended after the request was sent: it may have arrived."""
    service.batches.lost = 2
    done = run("batch", "submit", ONE)
    assert (done.returncode, done.stdout) == (0, f"{ID}\n")
    assert len(service.batches.keys) == 3
    (key,) = set(service.batches.keys)
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", key)


def test_answer_that_stays_lost_exits_4(call: Any, service: Any) -> None:
    """contract: Batch command: it is sent a few times, and no more."""
    service.batches.lost = 100
    done = call("batch", "submit", ONE)
    assert (done.returncode, done.stdout) == (4, "")
    assert "the connection was closed before an answer came" in done.stderr
    assert len(service.batches.keys) == 4


def test_each_command_has_a_key_of_its_own(call: Any, service: Any) -> None:
    """contract: Batch command: who submits the same pages again wants them again."""
    for _ in range(2):
        call("batch", "submit", ONE)
    assert len(set(service.batches.keys)) == 2


# --- what is printed in the end ------------------------------------------------------------------------------------


def test_batch_with_failures_exits_9_and_says_why(run: Any, service: Any) -> None:
    """contract: Batch command: what is there is printed, what is not has its reason in words, in the order asked."""
    service.batches.ends = {TWO: failed("robots disallow", ""), THREE: failed("fetch timeout", "deadline")}
    done = run("batch", "submit", ONE, TWO, THREE, "--wait")
    assert done.returncode == 9
    assert done.stdout == (
        "1.  One\n    https://a.example/one\n    23 characters\n\n    # One\n\n    first\n\n        code\n\n"
        f"2.  {TWO}\n    not allowed: the site's robots.txt does not let programs open this page\n\n"
        f"3.  {THREE}\n    the time of the batch was over before its turn came\n"
    )
    first, last = done.stderr.splitlines()
    assert first == f"3 pages, batch {ID}; kept until 2026-11-30T12:00:00Z"
    assert last == f"1 of 3 pages, batch {ID}; kept until 2026-11-30T12:00:00Z"


def test_refused_url_is_said_at_once_and_counts_as_missing(call: Any, service: Any) -> None:
    """contract: Batch command: the rest runs; the exit code tells that not every page is there."""
    service.batches.invalid = {"http://10.0.0.1/": "address"}
    done = call("batch", "submit", ONE, "http://10.0.0.1/", "--wait")
    assert done.returncode == 9
    assert done.stderr.splitlines()[0] == (
        "2. http://10.0.0.1/: not allowed: the URL's host is an address that is not public"
    )
    assert "1 of 2 pages" in done.stderr


def test_json_is_one_object_of_receipt_and_results(run: Any, service: Any) -> None:
    """contract: Batch command: all pages of the results in one list; stderr is silent."""
    service.batches.limit, service.batches.ends = 2, {TWO: failed()}
    urls = [ONE, TWO, THREE, "https://four.example/", "https://five.example/"]
    done = run("batch", "submit", *urls, "--wait", "--json")
    assert (done.returncode, done.stderr) == (9, "")
    answer = json.loads(done.stdout)
    assert [*answer] == ["id", "status", "total", "duplicates", "invalid", "expires_at", "items"]
    assert (answer["status"], [item["url"] for item in answer["items"]]) == ("done", urls)
    assert [item["state"] for item in answer["items"]] == ["ok", "failed", "ok", "ok", "ok"]


def test_wait_that_is_over_first_shows_what_is_there(call: Any, service: Any) -> None:
    """contract: Batch command: exit code 0, and how to go on."""
    service.batches.pace, service.batches.done = 0, 0
    done = call("batch", "submit", ONE, "--wait", "1")
    assert (done.returncode, done.stdout) == (0, f"1.  {ONE}\n    not opened yet\n")
    assert done.stderr.splitlines()[-1] == f"0 of 1 pages; the batch goes on: sift batch status {ID} --wait"


def test_interrupted_wait_leaves_the_batch_and_says_how_to_go_on(environ: Any, service: Any) -> None:
    """contract: Batch command: Ctrl-C ends the command alone."""
    service.batches.pace = 0
    process = subprocess.Popen(
        [SIFT, "batch", "submit", ONE, "--wait"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: len(service.batches.asked) > 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == f"the batch goes on: sift batch status {ID} --wait"
    assert not service.batches.cancelled


def test_terminal_shows_a_bar_and_then_the_first_lines(open_terminal: Open, service: Any) -> None:
    """contract: Batch command: what is done and failed, the host that is waited for; it is erased in the end."""
    service.batches.pace, service.batches.ends = 1, {ONE: failed(), THREE: {"content": "many words " * 500}}
    terminal = open_terminal("batch", "submit", ONE, TWO, THREE, "--wait")
    assert terminal.close() == 9
    plain = re.sub(r"\x1b\[\d*m", "", terminal.shown)
    rows = re.findall(r"\r\x1b\[K([█░]+  [^\r\n]*)", plain)
    assert rows == [
        "██████████" + "░" * 20 + "  1 of 3, 1 failed  waiting for two.example",
        "█" * 20 + "░" * 10 + "  2 of 3, 1 failed  waiting for three.example",
        "█" * 30 + "  3 of 3, 1 failed",
    ]
    shown = plain.rpartition("\r\x1b[K")[2].splitlines()
    assert shown[0] == f"1.  {ONE}"
    start = shown.index("3.  One")
    line = "    " + " ".join(["many words"] * 7)
    assert shown[start + 3 :][:2] == ["", line]
    assert shown[start + 7 :] == [
        "    …",
        "",
        "2 of 3 pages; kept until 2026-11-30T12:00:00Z",
        f"whole texts: sift batch results {ID} --out DIR",
    ]
    assert max(map(len, shown)) <= 80


def test_bar_is_no_part_of_what_is_piped(environ: Any, service: Any, tmp_path: Path) -> None:
    """contract: Batch command: where stderr is no terminal nothing of the bar is written."""
    service.batches.pace = 1
    with (tmp_path / "err").open("wb") as err:
        subprocess.run([SIFT, "batch", "submit", ONE, TWO, "--wait"], env=environ, stdout=err, stderr=err, check=True)
    text = (tmp_path / "err").read_text()
    assert "\x1b" not in text
    assert "\r" not in text


# --- how it ends ---------------------------------------------------------------------------------------------------

REFUSALS = {
    "urls": (400, "invalid batch", "urls", 2, "URL: none of these may be opened; sift guard check says why"),
    "field": (400, "invalid batch", "max_chars", 2, "--max-chars: a whole number from 1000 to 200000"),
    "ttl": (400, "invalid batch", "ttl", 2, "--ttl: a whole number from 3600 to 604800"),
    "unauthorized": (401, "unauthorized", "", 3, "SIFT_TOKEN"),
    "switched off": (404, "not found", "", 1, "switched off there"),
    "large": (413, "request too large", "", 2, "too large"),
    "internal": (500, "internal error", "", 1, "500"),
    "limit": (429, "rate limited", "batch", 8, "too many batches are under way; try again in 1 s"),
    "busy": (503, "busy", "", 8, "the service's store of batches does not answer; try again in 1 s"),
    "proxy": (503, "unavailable", "", 4, "a proxy answered for it, with status 503"),
}


@pytest.mark.parametrize(("status", "error", "hint", "code", "named"), REFUSALS.values(), ids=REFUSALS)
def test_refusal_ends_with_its_code_and_one_line(
    call: Any, service: Any, status: int, error: str, hint: str, code: int, named: str
) -> None:
    """contract: Batch command: each has its exit code and its words; no URL is repeated."""
    service.batches.instead = lambda method, path: (status, {"error": error, "hint": hint})
    service.headers = {"Retry-After": "1"}
    done = call("batch", "submit", "https://needle.example/", "--wait")
    assert (done.returncode, done.stdout) == (code, "")
    assert re.fullmatch(rf"sift: .*{re.escape(named)}.*\n", done.stderr)
    assert "needle" not in done.stderr


def test_too_many_for_the_class_is_said(call: Any, service: Any) -> None:
    """contract: Batch command: the service knows the caller's class, the command does not."""
    service.batches.instead = lambda method, path: (400, {"error": "invalid batch", "hint": "urls"})
    done = call("batch", "submit", *(f"{ONE}{n}" for n in range(26)))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sift: URL: 1 to 100; 25 at most for class restricted")


def test_store_that_does_not_answer_is_asked_again_with_the_same_key(call: Any, service: Any) -> None:
    """contract: Batch command: it may have kept the batch all the same."""
    answers = iter([(503, {"error": "busy", "hint": ""})])
    service.batches.instead = lambda method, path: next(answers, None)
    assert call("batch", "submit", ONE).stdout == f"{ID}\n"
    assert [method for method, _ in service.batches.asked] == ["POST", "POST"]


@pytest.mark.parametrize("id", ["b_../status", "x", "", f"{ID}x", "b_" + "A" * 26])
def test_receipt_with_a_wrong_id_is_not_the_services(call: Any, service: Any, id: str) -> None:
    """contract: Batch command: an id becomes part of a path and of what is printed."""
    receipt = {"id": id, "status": "queued", "total": 1, "duplicates": 0, "invalid": [], "expires_at": ""}
    service.batches.instead = lambda method, path: (202, receipt)
    done = call("batch", "submit", ONE)
    assert (done.returncode, done.stdout) == (1, "")
    assert "something that is not Sift answered" in done.stderr


def test_field_the_service_refuses_is_explained_in_flags() -> None:
    """contract: Batch command: what a field takes, in one line."""
    assert takes("format", FIELDS) == "markdown or text"
    assert takes("urls", FIELDS).startswith("1 to 100; ")
