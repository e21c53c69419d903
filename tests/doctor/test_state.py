"""The state directory, its ledger and the clock (contract: Doctor, Credits)."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from sift.doctor.state import SeenState, check_ledger, check_state, look_at_state
from sift.store.sqlite.inspect import Inspected

TODAY = date(2026, 9, 29)


def test_writable_directory_is_fine_and_left_as_it_was(tmp_path: Path) -> None:
    """contract: Doctor: nothing is changed."""
    tmp_path.chmod(0o700)
    (found,) = check_state(tmp_path, look_at_state(tmp_path), "sift")
    assert found == ("ok", "state", f"{tmp_path} can be written by user sift", "")
    assert not any(tmp_path.iterdir())


def test_missing_directory_that_can_be_made_is_a_warning(tmp_path: Path) -> None:
    """contract: Doctor: it is made at first use; a mount that is missing looks the same."""
    path = tmp_path / "a" / "b"
    (found,) = check_state(path, look_at_state(path), "sift")
    assert (found.level, found.cure) == ("warn", f"install -d -m 700 -o sift {path}")
    assert not path.parent.exists()


def test_missing_directory_below_a_file_fails(tmp_path: Path) -> None:
    """contract: Doctor: no state directory: its cure is the command that makes one."""
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "state"
    (found,) = check_state(path, look_at_state(path), "sift")
    assert found.level == "fail"
    assert f"install -d -m 700 -o sift {path}" in found.cure


def test_file_in_its_place_fails(tmp_path: Path) -> None:
    """contract: Doctor: only a directory is one."""
    (tmp_path / "state").touch()
    (found,) = check_state(tmp_path / "state", look_at_state(tmp_path / "state"), "sift")
    assert (found.level, found.what) == ("fail", f"{tmp_path / 'state'} is no directory")


def test_directory_that_cannot_be_written_fails() -> None:
    """contract: Doctor: rights, a full disk and a sandbox look alike."""
    (found,) = check_state(Path("/s"), SeenState(0o500, is_directory=True, can_write=False), "sift")
    assert (found.level, found.what) == ("fail", "/s cannot be written by user sift")
    assert "chown sift /s" in found.cure


def test_directory_open_to_others_is_a_warning(tmp_path: Path) -> None:
    """contract: Doctor: the service makes it with mode 0700."""
    tmp_path.chmod(0o755)
    (found,) = check_state(tmp_path, look_at_state(tmp_path), "sift")
    assert (found.level, found.cure) == ("warn", f"chmod 700 {tmp_path}")


def test_no_ledger_yet_is_fine() -> None:
    """contract: Doctor: it is made by the first call that is counted."""
    assert [each.level for each in check_ledger(Path("/s/l"), Inspected(exists=False), "sift", TODAY)] == ["ok"]


@pytest.mark.parametrize(
    ("trouble", "level"),
    [("locked", "warn"), ("slow", "warn"), ("read-only", "fail"), ("unreadable", "fail"), ("damaged", "fail")],
)
def test_ledger_in_trouble_has_a_cure(trouble: str, level: str) -> None:
    """contract: Doctor: an unusable ledger keeps capped sources from being asked."""
    seen = Inspected(exists=True, trouble=trouble)  # type: ignore[arg-type]
    (found,) = check_ledger(Path("/s/ledger.sqlite3"), seen, "sift", TODAY)
    assert found.level == level
    assert found.cure


@pytest.mark.parametrize(
    ("newest", "level"), [("", "ok"), ("2026-09-28", "ok"), ("2026-09-29", "ok"), ("2026-09-30", "warn"), ("x", "ok")]
)
def test_clock_behind_the_ledger_is_a_warning(newest: str, level: str) -> None:
    """contract: Doctor: a day that was counted and is still to come was counted by a wrong clock, or this one is."""
    _, clock = check_ledger(Path("/s/l"), Inspected(exists=True, newest=newest), "sift", TODAY)
    assert (clock.check, clock.level) == ("clock", level)
    assert (newest in clock.what and "2026-09-29" in clock.what) == (level == "warn")
