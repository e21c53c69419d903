from __future__ import annotations

import json
import os
import stat
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from sift.auth.identify import KeyFile
from sift.auth.keys import KeyArgumentError, list_keys, new_key, revoke
from tests.auth.keyfiles import ENTRY, NOW, put


def test_new_key_is_private_complete_and_usable(tmp_path: Path) -> None:
    """contract: Callers: mode 0600 in a directory of mode 0700 whatever the umask, the contract's fields, the secret's
    digest.
    """
    path = tmp_path / "a" / "keys.json"
    before = os.umask(0)
    try:
        token = new_key(path, "bot", "fleet", "12h", NOW + timedelta(microseconds=5))
    finally:
        os.umask(before)
    _, key_id, secret = token.split("_", 2)
    assert [stat.S_IMODE(place.stat().st_mode) for place in (path, path.parent)] == [0o600, 0o700]
    assert json.loads(path.read_text()) == [
        {
            "id": key_id,
            "name": "bot",
            "class": "fleet",
            "sha256": sha256(secret.encode()).hexdigest(),
            "created": "2026-09-29T12:00:00Z",
            "expires": "2026-09-30T00:00:00Z",
        }
    ]
    assert {file.name for file in path.parent.iterdir()} == {"keys.json", "keys.json.lock"}
    KeyFile(path, now=lambda: NOW, look_every=0).check()


def test_writing_keeps_all_other_entries(path: Path) -> None:
    """contract: Callers: creating and revoking change one entry and keep the others, order included."""
    entries = [
        ENTRY | {"expires": "2027-01-01T00:00:00Z"},
        ENTRY | {"id": "hgfedcba", "name": "日本", "disabled": True},
    ]
    put(path, entries)
    token = new_key(path, "third", "restricted", None, NOW)
    assert json.loads(path.read_text())[:2] == entries
    revoke(path, "abcdefgh")
    revoke(path, "hgfedcba")
    first, second, third = json.loads(path.read_text())
    assert (first, second) == (entries[0] | {"disabled": True}, entries[1])
    assert (third["id"], "disabled" in third) == (token[5:13], False)


def test_writing_goes_through_a_link(path: Path, tmp_path: Path) -> None:
    """contract: Callers: a symbolic link stays one, and its target gets the key."""
    target = tmp_path / "target.json"
    put(target, [])
    path.symlink_to(target)
    new_key(path, "bot", "fleet", None, NOW)
    assert path.is_symlink()
    assert len(list_keys(target)) == 1


@pytest.mark.parametrize(
    ("span", "length"), [("1h", timedelta(hours=1)), ("4w", timedelta(28)), ("3650d", timedelta(3650))]
)
def test_expiry_spans(path: Path, span: str, length: timedelta) -> None:
    """contract: Command line: hours, days and weeks."""
    new_key(path, "bot", "fleet", span, NOW)
    assert list_keys(path)[0].expires == NOW + length


REFUSED = {
    "name": ("n" * 65, "fleet", None),
    "class": ("bot", "admin", None),
    "expires": ("bot", "fleet", "99999d"),
}


@pytest.mark.parametrize(("argument", "values"), REFUSED.items(), ids=REFUSED)
def test_wrong_argument_is_named_without_flags(
    tmp_path: Path, argument: str, values: tuple[str, str, str | None]
) -> None:
    """Callers of these functions know what their user typed; the functions know no flags."""
    with pytest.raises(KeyArgumentError) as refusal:
        new_key(tmp_path / "state" / "keys.json", *values, NOW)
    assert refusal.value.argument == argument
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key_id", ["", "hgfedcba"])
def test_unknown_id_is_named(path: Path, key_id: str) -> None:
    """contract: Command line: an unknown key cannot be revoked."""
    for content in ([], [ENTRY]):
        put(path, content)
        with pytest.raises(KeyArgumentError) as refusal:
            revoke(path, key_id)
        assert refusal.value.argument == "id"


def test_repr_shows_neither_secret_nor_hash(path: Path) -> None:
    """contract: Log: only the public id and the name of a key can be printed."""
    put(path, [ENTRY])
    shown = repr(list_keys(path))
    assert "abcdefgh" in shown
    assert ENTRY["sha256"][:8] not in shown
    assert repr(bytes.fromhex(ENTRY["sha256"]))[2:8] not in shown
