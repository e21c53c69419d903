"""Which pages a batch is made of."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sift.cli.batch.chosen import chosen
from tests.cli.conftest import ENVELOPE

HITS = [hit["url"] for hit in ENVELOPE["results"]]


def submitted(service: Any) -> list[str]:
    """Return the URLs of the last batch."""
    urls: list[str] = service.batches.submitted[-1]["urls"]
    return urls


def test_urls_of_all_inputs_are_joined_in_order(call: Any, service: Any, tmp_path: Path) -> None:
    """contract: Batch command: arguments, then the file, then the search."""
    (tmp_path / "urls").write_text("\ufeff# mine\n\nhttps://c.example/x?a=1&b=2#c\r\n  https://d.example/  \n")
    (tmp_path / "answer").write_text(json.dumps(ENVELOPE))
    files = ("--urls-file", str(tmp_path / "urls"), "--from-search", str(tmp_path / "answer"))
    assert call("batch", "submit", "https://z.example/", *files).returncode == 0
    assert submitted(service) == ["https://z.example/", "https://c.example/x?a=1&b=2#c", "https://d.example/", *HITS]


def test_file_may_be_a_json_array(call: Any, service: Any, tmp_path: Path) -> None:
    """contract: Batch command: as a queries file is."""
    path = tmp_path / "urls"
    path.write_text(json.dumps(HITS, indent=1))
    assert call("batch", "submit", "--urls-file", str(path)).returncode == 0
    assert submitted(service) == HITS
    path.write_text("[1]")
    assert call("batch", "submit", "--urls-file", str(path)).returncode == 2


def test_urls_file_reads_standard_input(environ: Any, service: Any) -> None:
    """contract: Batch command: `-` is what a pipe brings."""
    command = "printf '%s\\n' https://a.example/ https://b.example/ | sift batch submit --urls-file - --top 1"
    subprocess.run(["bash", "-c", command], env=environ, capture_output=True, check=True, timeout=60)
    assert submitted(service) == ["https://a.example/"]


DOMAINS = {
    "all": ((), (), None, [0, 1, 2, 3, 4]),
    "include": (("docs.example",), (), None, [0, 1]),
    "include as spelt": (("DOCS.example.",), (), None, [0, 1]),
    "exclude": ((), ("docs.example",), None, [2, 3, 4]),
    "both": (("docs.example",), ("a.docs.example",), None, [0]),
    "first of what is left": ((), ("docs.example",), 1, [2]),
    "no prefix of a name": (("ocs.example",), (), None, []),
    "address": (("127.1",), (), None, []),
    "address of any spelling": (("10.0.0.1",), (), None, [3]),
}
URLS = [
    "https://docs.example/1",
    "https://u@A.Docs.Example:8443/2",
    "https://notdocs.example/docs.example",
    "http://0x0a000001/",
    "no url",
]


@pytest.mark.parametrize(("include", "exclude", "top", "left"), DOMAINS.values(), ids=DOMAINS)
def test_domains_leave_what_a_search_would(include: Any, exclude: Any, top: int | None, left: list[int]) -> None:
    """R3: subdomains included, on the host that a browser would go to; `--top` counts what is left."""
    assert chosen(URLS, include, exclude, top) == [URLS[index] for index in left]


UPSTREAM = {
    "nothing": ("", 1, "the search before it failed"),
    "blank": ("\n", 1, "the search before it failed"),
    "unavailable": (
        '{"error": "search unavailable", "hint": "", "warnings": []}',
        5,
        "search failed: search unavailable",
    ),
    "no key": ('{"error": "unauthorized", "hint": ""}', 3, "the search failed: unauthorized"),
    "wrong": ('{"error": "invalid search", "hint": "k"}', 2, "the search failed: invalid search k"),
    "later": ('{"error": "a\\u001b[31mnew\\u202e one", "hint": 5}', 1, "the search failed: anew one\n"),
    "cut off": (json.dumps(ENVELOPE)[:200], 2, "not JSON"),
    "text": ("One\nhttps://a.example/1\n", 2, "not JSON"),
    "no answer": ('{"sources": []}', 2, "not what sift search --json prints"),
    "no hits of ours": ('{"results": [{"title": "x"}]}', 2, "not what sift search --json prints"),
    "list": ("[]", 2, "not what sift search --json prints"),
    "not text": ("\udcff", 2, "not UTF-8"),
    "no hits": (json.dumps(ENVELOPE | {"results": []}), 7, "nothing to open"),
}


@pytest.mark.parametrize(("printed", "code", "named"), UPSTREAM.values(), ids=UPSTREAM)
def test_search_without_hits_makes_no_batch(
    call: Any, service: Any, tmp_path: Path, printed: str, code: int, named: str
) -> None:
    """contract: Batch command: one clear line and an exit code, never an empty batch."""
    path = tmp_path / "answer"
    path.write_bytes(printed.encode(errors="surrogateescape"))
    done = call("batch", "submit", "--from-search", str(path), "--wait")
    assert (done.returncode, done.stdout, service.asked) == (code, "", [])
    assert named in done.stderr
    assert code == 2 or done.stderr.count("\n") == 1


def test_failed_search_in_a_pipe_makes_no_batch(environ: Any, service: Any) -> None:
    """contract: Batch command: the search's own line, then one that says there is nothing to read."""
    command = "SIFT_URL=http://127.0.0.1:1 sift search x --json | sift batch submit --from-search - --wait"
    done = subprocess.run(["bash", "-c", command], env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, service.asked) == (1, "", [])
    first, second = done.stderr.splitlines()
    assert "the connection was refused" in first
    assert second.startswith("sift: --from-search: there is nothing to read")


def test_hits_on_no_wanted_host_make_no_batch(call: Any, service: Any, tmp_path: Path) -> None:
    """contract: Batch command: exit code 7: there is no page to open."""
    (tmp_path / "answer").write_text(json.dumps(ENVELOPE))
    done = call("batch", "submit", "--from-search", str(tmp_path / "answer"), "--include-domain", "c.example")
    assert (done.returncode, done.stdout, service.asked) == (7, "", [])
    assert done.stderr == "sift: nothing to open: no URL is left\n"
