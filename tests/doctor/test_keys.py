"""The key file (contract: Doctor, Callers)."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sift.auth.entry import format_time
from sift.doctor.keys import SeenKeys, check_keys, look_at_keys
from sift.findings import Finding
from tests.auth.keyfiles import ENTRY, NOW, put

ME = os.geteuid()


def checked(seen: SeenKeys, user: int = ME) -> list[Finding]:
    return check_keys(seen, user, "sift", "/state/keys.json", NOW)


def file_of(path: Path, *entries: Any, mode: int = 0o600) -> SeenKeys:
    put(path / "keys.json", [ENTRY | entry for entry in entries], mode)
    return look_at_keys(path / "keys.json")


def ending(days: float, name: str = "aaaaaaaa") -> dict[str, str]:
    return {"id": name, "name": "zebra", "expires": format_time(NOW + timedelta(days=days))}


def test_good_file_is_counted(tmp_path: Path) -> None:
    """contract: Doctor: disabled and expired keys are not usable."""
    seen = file_of(tmp_path, {}, ending(-1), {"id": "bbbbbbbb", "disabled": True}, ending(30, "cccccccc"))
    assert checked(seen) == [("ok", "keys", "2 keys are usable, and the file is private", "")]


def test_missing_file_names_the_command_that_makes_a_key(tmp_path: Path) -> None:
    """contract: Doctor: as whom it is to be run, too."""
    (found,) = checked(look_at_keys(tmp_path / "none.json"))
    assert found == (
        "fail",
        "keys",
        "the key file is missing",
        "as user sift: sift key new --name NAME --class CLASS",
    )


def test_wide_file_names_its_mode_and_the_cure(tmp_path: Path) -> None:
    """contract: Doctor: a wide mode stops the start."""
    (found,) = checked(file_of(tmp_path, {}, mode=0o644))
    assert (found.level, found.cure) == ("fail", "chmod 600 /state/keys.json")
    assert "0644" in found.what


def test_malformed_file_fails_without_its_content(tmp_path: Path) -> None:
    """contract: Doctor: nothing of the file is shown."""
    put(tmp_path / "keys.json", b'[{"zebra": 1}]')
    (found,) = checked(look_at_keys(tmp_path / "keys.json"))
    assert found.what == "the key file is malformed"
    assert "put a good copy in its place" in found.cure


def test_file_of_another_user_fails_though_it_can_be_read(tmp_path: Path) -> None:
    """S60: the service's user is who must be able to read it."""
    (found,) = checked(file_of(tmp_path, {}), user=ME + 1)
    assert (found.level, found.cure) == ("fail", "chown sift /state/keys.json; run sift key as that user")


def test_no_usable_key_fails(tmp_path: Path) -> None:
    """contract: Doctor: the service would not start."""
    (found,) = checked(file_of(tmp_path, ending(-1)))
    assert (found.level, found.what) == ("fail", "no key of 1 is usable: the service does not start")


@pytest.mark.parametrize(
    ("days", "what"),
    [
        ((13.9,), "1 of 2 keys expires soon, the first in 13 days"),
        ((0.5,), "1 of 2 keys expires soon, the first within a day"),
        ((13, 1.5), "2 of 3 keys expire soon, the first in 1 day"),
    ],
)
def test_keys_that_expire_within_14_days_are_counted(tmp_path: Path, days: tuple[float, ...], what: str) -> None:
    """contract: Doctor: how many and when, and no caller's name."""
    soon = [ending(day, f"{number}aaaaaaa".replace("0", "x").replace("1", "y")) for number, day in enumerate(days)]
    found = checked(file_of(tmp_path, {}, *soon))
    assert [each.level for each in found] == ["ok", "warn"]
    assert found[1].what == what
    assert "zebra" not in str(found)


def test_key_that_lives_longer_is_no_warning(tmp_path: Path) -> None:
    """contract: Doctor: 14 days are enough to make another."""
    assert [each.level for each in checked(file_of(tmp_path, ending(14)))] == ["ok"]
