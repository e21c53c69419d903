"""`sift batch`, as it is installed, against the real service with its own workers, over the demo's pages."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real.programs import SIFT
from tests.service import Service

Run = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("batches"), {"SIFT_DEMO": "on"}) as service:
        yield service


@pytest.fixture
def shell(demo: Service, tmp_path: Path) -> Run:
    """Return a function that runs a line of a shell in which `sift` is installed."""
    path = f"{Path(SIFT).parent}:{os.environ['PATH']}"
    environ = {"PATH": path, "HOME": str(tmp_path), "LANG": "C.UTF-8", "SIFT_URL": demo.url}

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
        )

    return run


def test_pages_of_a_search_are_read_in_one_pipe(shell: Run) -> None:
    """contract: Batch command: search, keep the few, read them, in the order of the hits."""
    found = json.loads(shell('sift search "context manager" --k 3 --json').stdout)
    done = shell('sift search "context manager" --json | sift batch submit --from-search - --top 3 --wait --json')
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert [item["url"] for item in answer["items"]] == [hit["url"] for hit in found["results"]]
    assert all("context" in item["result"]["content"] for item in answer["items"])
    assert (answer["status"], answer["total"]) == ("done", 3)


def test_batch_is_submitted_waited_for_saved_and_deleted(shell: Run, tmp_path: Path) -> None:
    """contract: Batch command: what each command does, one after another."""
    page = "https://docs.python.org/3/reference/datamodel.html"
    batch = shell(f"sift batch submit {page} {page}#again").stdout.strip()
    assert shell(f"sift batch status {batch} --wait").stdout.startswith("done: 2 ok, of 2 pages")
    saved = shell(f"sift batch results {batch} --out pages")
    assert saved.returncode == 0
    assert [Path(line).name[:4] for line in saved.stdout.splitlines()] == ["001-", "002-"]
    assert all("context manager" in path.read_text() for path in (tmp_path / "pages").iterdir())
    assert batch in shell("sift batch list").stdout
    assert shell(f"sift batch errors {batch}").stderr == "nothing failed\n"
    assert shell(f"sift batch cancel {batch} --purge").returncode == 0
    assert shell(f"sift batch status {batch}").returncode == 1


def test_page_that_may_not_be_opened_is_said(shell: Run) -> None:
    """contract: Batch command: the rest is there; nothing else is opened."""
    page = "https://docs.python.org/3/reference/datamodel.html"
    done = shell(f"sift batch submit http://169.254.169.254/ {page} --wait --max-chars 1000")
    assert done.returncode == 9
    assert "1. http://169.254.169.254/: not allowed: the URL's host is an address that is not public" in done.stderr
    assert done.stdout.startswith("2.  ")
    alone = shell("sift batch submit http://169.254.169.254/ --wait")
    assert (alone.returncode, alone.stdout) == (2, "")
    assert "none of these may be opened" in alone.stderr
