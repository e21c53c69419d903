"""`sift batch status`, `results`, `errors`, `cancel` and `list`."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.batches import ID, PAGE, failed
from tests.cli.conftest import SIFT
from tests.cli.terminal import Open
from tests.cli.test_fetch import CLEAN, HOSTILE
from tests.waiting import wait_for

URLS = [f"https://{name}.example/" for name in ("one", "two", "three")]
UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u202e\u2066]")


@pytest.fixture
def batches(service: Any) -> Any:
    """Return a batch that is through: two pages, and one that failed."""
    service.batches.urls, service.batches.done = URLS, 3
    service.batches.ends = {URLS[1]: failed("fetch failed", "dns")}
    return service.batches


# --- status --------------------------------------------------------------------------------------------------------


def test_status_is_a_line_and_an_exit_code(call: Any, batches: Any) -> None:
    """contract: Batch command: 9 when it has ended without all its pages."""
    done = call("batch", "status", ID)
    assert (done.returncode, done.stdout) == (
        9,
        "done: 2 ok, 1 failed, of 3 pages; kept until 2026-11-30T12:00:00Z\n",
    )
    assert batches.asked == [("GET", f"/v1/batch/{ID}?wait=0")]


def test_status_of_a_running_batch_exits_0(call: Any, batches: Any) -> None:
    """contract: Batch command: without --wait it is asked once."""
    batches.done, batches.pace, batches.ends = 1, 0, {}
    done = call("batch", "status", ID)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("running: 1 ok, 2 to come, of 3 pages")
    assert len(batches.asked) == 1


def test_status_waits_for_the_end(call: Any, batches: Any) -> None:
    """contract: Batch command: the service is asked to wait, and asked again."""
    batches.done, batches.pace, batches.ends = 1, 1, {}
    done = call("batch", "status", ID, "--wait", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["status"] == "done"
    assert [path for _, path in batches.asked] == [f"/v1/batch/{ID}?wait=20"] * 2


def test_interrupted_status_says_how_to_go_on(environ: Any, batches: Any) -> None:
    """contract: Batch command: Ctrl-C ends the command alone."""
    batches.done, batches.pace = 0, 0
    process = subprocess.Popen(
        [SIFT, "batch", "status", ID, "--wait"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    wait_for(lambda: batches.asked)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=30) == ("", f"the batch goes on: sift batch status {ID} --wait\n")
    assert process.returncode == 130


# --- results -------------------------------------------------------------------------------------------------------


def test_results_come_in_pages_and_are_printed_in_order(call: Any, batches: Any) -> None:
    """contract: Batch command: every page of the results is read; 9 when a page is missing."""
    batches.limit = 1
    done = call("batch", "results", ID)
    assert done.returncode == 9
    heads = [line for line in done.stdout.splitlines() if line[:1].isdigit()]
    assert heads == ["1.  One", f"2.  {URLS[1]}", "3.  One"]
    assert "    the page could not be had: the name of its host cannot be resolved" in done.stdout.splitlines()
    assert [path.partition("?")[2] for _, path in batches.asked] == [f"offset={n}&limit=50" for n in range(3)]


def test_only_what_is_there_is_no_failure(call: Any, batches: Any) -> None:
    """contract: Batch command: the exit code is about what was asked to be shown."""
    ok, not_ok = (call("batch", "results", ID, "--only", only) for only in ("ok", "failed"))
    assert (ok.returncode, not_ok.returncode) == (0, 9)
    assert [line for line in not_ok.stdout.splitlines() if line[:1].isdigit()] == [f"2.  {URLS[1]}"]
    assert batches.asked[0][1].endswith("&only=ok")


def test_results_as_json_are_one_object(run: Any, batches: Any) -> None:
    """contract: Batch command: stdout is the service's answer, its pages joined; stderr is silent."""
    batches.limit = 2
    done = run("batch", "results", ID, "--json")
    assert (done.returncode, done.stderr) == (9, "")
    answer = json.loads(done.stdout)
    assert [*answer] == ["id", "status", "items"]
    assert [item["index"] for item in answer["items"]] == [0, 1, 2]
    assert answer["items"][0]["result"] == {"url": URLS[0]} | PAGE


def test_no_result_is_said_to_be_none(call: Any, batches: Any) -> None:
    """contract: Batch command: an empty list is an answer."""
    batches.ends = {}
    done = call("batch", "results", ID, "--only", "failed")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "no pages\n")


def test_pages_that_lead_back_end(call: Any, batches: Any) -> None:
    """contract: Batch command: an offset that does not grow ends the reading."""
    page = {"id": ID, "status": "done", "items": [], "next_offset": 0}
    batches.instead = lambda method, path: (200, page)
    assert call("batch", "results", ID).returncode == 0


def test_text_of_a_page_cannot_drive_the_terminal_nor_pass_for_another(call: Any, batches: Any) -> None:
    """contract: Batch command: a page is hostile in every byte; only heads begin a line."""
    bait = f"{HOSTILE}\n2.  Forged\nhttps://bank.example/\r3.  Forged\u20284.  Forged\x855.  Forged\x0b6.  Forged"
    batches.urls, batches.done, batches.ends = (
        URLS[:2],
        2,
        {
            URLS[0]: dict.fromkeys(("final_url", "title", "published_date"), HOSTILE)
            | {"content": bait, "warnings": [HOSTILE]},
            URLS[1]: failed(HOSTILE, HOSTILE),
        },
    )
    text, as_json, errors = (
        call("batch", *args) for args in (("results", ID), ("results", ID, "--json"), ("errors", ID))
    )
    for shown in (text.stdout, text.stderr, as_json.stdout, errors.stdout):
        assert UNSAFE.search(shown) is None
    heads = [line for line in text.stdout.splitlines() if line and not line.startswith("    ")]
    assert heads == ["1.  aredbc defg h ij", f"2.  {URLS[1]}"]
    assert f"    {CLEAN}" in text.stdout.splitlines()
    assert json.loads(as_json.stdout)["items"][0]["result"]["content"] == bait


def test_hostile_page_on_a_terminal_is_harmless(open_terminal: Open, batches: Any) -> None:
    """contract: Batch command: so it is where there are colours."""
    batches.urls, batches.done = URLS[:1], 1
    batches.ends = {
        URLS[0]: {"title": HOSTILE, "content": f"{HOSTILE}\n" * 50, "final_url": "https://a.example/\x1b[2J"}
    }
    terminal = open_terminal("batch", "results", ID)
    assert terminal.close() == 0
    assert UNSAFE.search(re.sub(r"\x1b\[\d*m", "", terminal.shown)) is None
    assert "\x1b[1maredbc" in terminal.shown


def test_terminal_is_for_people_who_look_through_pages(open_terminal: Open, batches: Any) -> None:
    """contract: Batch command: a title is one line, no heading runs into a text, and each warning comes once."""
    long, cut = {"title": "many words " * 20, "content": "# One\n\nfirst\n\n## Two\n\nsecond"}, "page cut at 10 MiB"
    batches.urls, batches.done = [*URLS[:2], f"{URLS[1]}more"], 3
    batches.ends = {
        batches.urls[0]: long | {"warnings": ["demo page", cut]},
        batches.urls[1]: {"content": "# Only a heading", "warnings": ["demo page"]},
        batches.urls[2]: {"warnings": ["demo page", cut]},
    }
    terminal = open_terminal("batch", "results", ID)
    assert terminal.close() == 0
    shown = re.sub(r"\x1b\[\d*m", "", terminal.shown).splitlines()
    assert (shown[0][:18], shown[0][-1], len(shown[0])) == ("1.  many words man", "…", 80)
    assert shown[4:6] == ["    first second", ""]
    assert "    # Only a heading" in shown
    assert shown[-3:] == ["", "warning, all pages: demo page", f"warning, pages 1, 3: {cut}"]


def test_text_that_was_cut_says_so(call: Any, batches: Any) -> None:
    """contract: Batch command: how much there is, and how much of it is kept; the page's warnings are beside it."""
    batches.ends = {URLS[0]: {"chars": 90_000, "next_start": 19_990, "warnings": ["page cut at 10 MiB"]}}
    lines = call("batch", "results", ID).stdout.splitlines()
    assert lines[2:4] == ["    90000 characters, the first 19990 kept", "    warning: page cut at 10 MiB"]


# --- files ---------------------------------------------------------------------------------------------------------


def test_out_writes_a_file_for_each_page(run: Any, batches: Any, tmp_path: Path) -> None:
    """contract: Batch command: named by number and title; paths on stdout, failures on stderr."""
    out = tmp_path / "new" / "pages"
    done = run("batch", "results", ID, "--out", str(out))
    assert done.returncode == 9
    assert done.stdout.splitlines() == [f"{out}/001-one.md", f"{out}/003-one.md"]
    assert done.stderr == f"2. {URLS[1]}: the page could not be had: the name of its host cannot be resolved\n"
    assert sorted(path.name for path in out.iterdir()) == ["001-one.md", "003-one.md"]
    assert (out / "001-one.md").read_text() == (
        f'---\nurl: "{URLS[0]}"\nfinal_url: "https://a.example/one"\ntitle: "One"\n'
        f'fetched_at: "2026-11-29T12:00:00Z"\nchars: 23\n---\n\n{PAGE["content"]}\n'
    )


def test_title_never_leads_out_of_the_directory(run: Any, batches: Any, tmp_path: Path) -> None:
    """contract: Batch command: whatever a page calls itself."""
    titles = [
        "../../../etc/passwd",
        "/etc/passwd",
        ".bashrc",
        "..",
        "a\0b/c\\d",
        HOSTILE,
        "\u202egnp.exe",
        "x" * 5000,
        "",
    ]
    batches.urls, batches.done = [f"https://h{n}.example/" for n in range(len(titles))], len(titles)
    batches.ends = dict(zip(batches.urls, ({"title": title} for title in titles), strict=True))
    out = tmp_path / "out"
    before = set(tmp_path.rglob("*"))
    assert run("batch", "results", ID, "--out", str(out)).returncode == 0
    assert {path.parent for path in set(tmp_path.rglob("*")) - before - {out}} == {out}
    names = sorted(path.name for path in out.iterdir())
    assert names[:5] == ["001-etc-passwd.md", "002-etc-passwd.md", "003-bashrc.md", "004.md", "005-a-b-c-d.md"]
    assert names[6:] == ["007-gnp-exe.md", f"008-{'x' * 100}.md", "009.md"]
    assert all(re.fullmatch(r"[0-9]{3}[\w-]*\.md", name) for name in names)


def test_link_at_a_files_place_is_replaced_and_not_followed(run: Any, batches: Any, tmp_path: Path) -> None:
    """contract: Batch command: nothing outside the directory is written to; a second run replaces the first's files."""
    batches.urls, batches.done = URLS[:1], 1
    out, target = tmp_path / "out", tmp_path / "precious"
    out.mkdir()
    target.write_text("precious")
    (out / "001-one.md").symlink_to(target)
    for _ in range(2):
        assert run("batch", "results", ID, "--out", str(out)).returncode == 0
    assert target.read_text() == "precious"
    assert not (out / "001-one.md").is_symlink()
    assert [path.name for path in out.iterdir()] == ["001-one.md"]


def test_out_that_cannot_be_written_exits_1(call: Any, batches: Any, tmp_path: Path) -> None:
    """contract: Batch command: the reason is said in a line; nothing half written stays."""
    (tmp_path / "file").write_text("")
    done = call("batch", "results", ID, "--out", str(tmp_path / "file"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "sift: --out: the files cannot be written: File exists\n"
    (tmp_path / "out" / "001-one.md").mkdir(parents=True)
    assert call("batch", "results", ID, "--out", str(tmp_path / "out")).returncode == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["001-one.md"]


def test_out_and_json_exclude_each_other(call: Any, service: Any, tmp_path: Path) -> None:
    """contract: Batch command: stdout cannot be both."""
    assert call("batch", "results", ID, "--out", str(tmp_path), "--json").returncode == 2
    assert service.asked == []


# --- errors, cancel, list ------------------------------------------------------------------------------------------


def test_errors_are_lines_in_words(call: Any, batches: Any) -> None:
    """contract: Batch command: number, URL and reason."""
    done = call("batch", "errors", ID)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"2. {URLS[1]}: the page could not be had: the name of its host cannot be resolved\n"
    assert json.loads(call("batch", "errors", ID, "--json").stdout)["errors"][0]["hint"] == "dns"
    batches.ends = {}
    assert call("batch", "errors", ID).stderr == "nothing failed\n"


def test_cancel_ends_and_purge_deletes(call: Any, batches: Any) -> None:
    """contract: Batch command: what it did is said on stderr."""
    assert call("batch", "cancel", ID).stderr == f"ended {ID}\n"
    assert call("batch", "cancel", ID, "--purge").stderr == f"deleted {ID}\n"
    assert json.loads(call("batch", "cancel", ID, "--json").stdout) == {"id": ID, "status": "cancelled"}
    assert batches.asked[:2] == [("DELETE", f"/v1/batch/{ID}"), ("DELETE", f"/v1/batch/{ID}?purge=1")]


def test_cancelled_batch_without_all_pages_exits_9(call: Any, batches: Any) -> None:
    """contract: Batch command: it has ended, and pages are missing."""
    batches.cancelled, batches.done, batches.pace, batches.ends = True, 1, 0, {}
    assert call("batch", "status", ID, "--wait").returncode == 9
    done = call("batch", "results", ID)
    assert done.returncode == 9


def test_list_is_a_table(call: Any, batches: Any) -> None:
    """contract: Batch command: a line for each batch."""
    done = call("batch", "list")
    head, row = done.stdout.splitlines()
    assert head.split() == ["id", "status", "pages", "ok", "failed", "left", "created", "kept", "until"]
    assert row.split() == [ID, "done", "3", "2", "1", "0", "2026-11-29T12:00:00Z", "2026-11-30T12:00:00Z"]
    assert json.loads(call("batch", "list", "--json").stdout)["batches"][0]["id"] == ID
    batches.instead = lambda method, path: (200, {"batches": []})
    assert call("batch", "list").stderr == "no batches\n"


def test_list_is_wider_than_the_terminal_it_goes_without_the_beginnings(open_terminal: Open, batches: Any) -> None:
    """contract: Batch command: a line each, also on 80 columns."""
    terminal = open_terminal("batch", "list")
    assert terminal.close() == 0
    head, row = terminal.shown.splitlines()
    assert head.split() == ["id", "status", "pages", "ok", "failed", "left", "kept", "until"]
    assert row.split() == [ID, "done", "3", "2", "1", "0", "11-30", "12:00Z"]
    assert max(map(len, (head, row))) <= 80


# --- how they end --------------------------------------------------------------------------------------------------

COMMANDS = [("status", ID), ("results", ID), ("errors", ID), ("cancel", ID), ("list",), ("status", ID, "--wait", "5")]
ENDS = {
    "unknown": (404, "not found", "", 1, "there is no such batch"),
    "unauthorized": (401, "unauthorized", "", 3, "SIFT_TOKEN"),
    "busy": (503, "busy", "", 8, "does not answer"),
    "proxy": (502, "bad gateway", "", 4, "a proxy answered for it, with status 502"),
    "not ours": (200, "", "", 1, "something that is not Sift answered"),
}


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(("status", "error", "hint", "code", "named"), ENDS.values(), ids=ENDS)
def test_refusal_ends_with_its_code_and_a_line(
    call: Any, batches: Any, arguments: Any, status: int, error: str, hint: str, code: int, named: str
) -> None:
    """contract: Batch command: each has its exit code and its words; `--json` shows the service's own beside them."""
    batches.instead = lambda method, path: (status, {"error": error, "hint": hint})
    done = call("batch", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert named in done.stderr.splitlines()[0]
    if code in (1, 3) and status != 200:
        assert json.loads(call("batch", *arguments, "--json").stdout) == {"error": error, "hint": hint}


@pytest.mark.parametrize("name", ["status", "results", "errors", "cancel"])
@pytest.mark.parametrize("id", ["", "..", "b_x", f"../{ID}", f"{ID}?purge=1", ID.upper(), f"{ID}\n"])
def test_id_of_another_form_is_wrong_usage(call: Any, service: Any, name: str, id: str) -> None:
    """contract: Batch command: what could be another path is not sent."""
    done = call("batch", name, id)
    assert (done.returncode, done.stdout, service.asked) == (2, "", [])
    assert "that is not the id of a batch" in done.stderr
