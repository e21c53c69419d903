"""The directory in which workers count, made anew by each service."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sift.metrics.directory import Directory

HOLD = "import sys; from pathlib import Path; from sift.metrics.directory import Directory\n"
HOLD += "held = Directory(Path(sys.argv[1])); print(held.path, flush=True); sys.stdin.read()"


def test_service_begins_with_an_empty_directory_and_removes_old_ones(tmp_path: Path) -> None:
    """contract: Metrics: numbers begin at 0 with each start; what earlier services left is gone."""
    state = tmp_path / "new" / "state"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, state], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        old = Path(first.stdout.readline().strip())
        (old / "counter_0.db").write_bytes(b"x")
        beside = Directory(state)
        assert old.exists()  # its service lives
        first.communicate("")
    (state / "metrics-file").touch()
    (state / "ledger.sqlite3").touch()
    newest = Directory(state)
    assert sorted(state.iterdir()) == sorted(
        [beside.path, newest.path, state / "ledger.sqlite3", state / "metrics-file"]
    )
    assert list(newest.path.iterdir()) == []
    assert (state.stat().st_mode & 0o777, newest.path.stat().st_mode & 0o777) == (0o700, 0o700)


def test_state_directory_is_a_file_is_an_error(tmp_path: Path) -> None:
    """contract: Metrics: whoever starts the service must know."""
    (tmp_path / "state").touch()
    with pytest.raises(OSError, match="state"):
        Directory(tmp_path / "state")
