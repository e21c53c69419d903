from __future__ import annotations

import ctypes
import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sift.auth.identify import KeyFile
from sift.auth.keys import KeyArgumentError, list_keys, new_key, revoke
from sift.errors import ConfigError
from tests.auth.keyfiles import ENTRY, NOW, put
from tests.service import ROOT


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


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
SERVICE = 65534  # the id of a user who is not root


@needs_root
def test_writing_by_root_keeps_owner_and_mode(path: Path) -> None:
    """contract: Command line: a key that root revokes is revoked for the service, which must still read the file."""
    put(path, [ENTRY], 0o400)
    os.chown(path, SERVICE, SERVICE)
    revoke(path, "abcdefgh")
    new_key(path, "bot", "fleet", None, NOW)
    for each, mode in ((path, 0o400), (path.with_name("keys.json.lock"), 0o600)):
        found = each.stat()
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (SERVICE, SERVICE, mode), each


@needs_root
def test_file_of_another_user_names_both_users_and_the_mode() -> None:
    """contract: Callers: a service that may not read the file says who must own it, and how."""
    place = Path(tempfile.mkdtemp())  # not below pytest's own directory, which another user cannot enter
    path = place / "keys.json"
    put(path, [ENTRY])
    place.chmod(0o755)
    messages = []
    try:
        for mode in (0o755, 0o700):
            place.chmod(mode)
            os.seteuid(SERVICE)
            try:
                with pytest.raises(ConfigError) as refusal:
                    list_keys(path)
            finally:
                os.seteuid(0)
            messages.append(str(refusal.value).partition(" ")[2].replace(ascii(str(path)), "it"))
    finally:
        shutil.rmtree(place)
    user = pwd.getpwuid(SERVICE).pw_name
    assert messages == [
        f"it belongs to user root and cannot be read by user {user}, who must own it, with mode 0600",
        f"it cannot be reached by user {user}, who must own it and its directory, with modes 0600 and 0700",
    ]


@needs_root
def test_new_file_by_root_belongs_to_the_owner_of_its_directory(path: Path) -> None:
    """contract: Command line: in the service's own directory, the first key is the service's to read."""
    os.chown(path.parent, SERVICE, SERVICE)
    new_key(path, "bot", "fleet", None, NOW)
    assert (path.stat().st_uid, path.stat().st_mode & 0o777) == (SERVICE, 0o600)


@needs_root
@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to], ids=["symbolic", "hard"])
def test_lock_linked_to_a_file_of_root_gives_nothing_away(path: Path, tmp_path: Path, link: Any) -> None:
    """contract: Command line: who owns the directory must not be given other files by a command of root."""
    secret = tmp_path / "secret"
    secret.touch()
    put(path, [ENTRY])
    os.chown(path, SERVICE, SERVICE)
    link(path.with_name("keys.json.lock"), secret)
    with suppress(OSError):
        revoke(path, "abcdefgh")
    assert secret.stat().st_uid == 0


def sift_key(path: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `sift key` on a key file."""
    return subprocess.run(
        [sys.executable, "-m", "sift", "key", *arguments],
        **{"cwd": ROOT, "env": {"PATH": os.environ["PATH"], "SIFT_KEYS_FILE": str(path)}, **options},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def drop_chown() -> None:
    """Give up the capability of root to change owners, as containers do."""
    assert ctypes.CDLL(None).prctl(24, 0, 0, 0, 0) == 0  # PR_CAPBSET_DROP, CAP_CHOWN


@needs_root
def test_owner_that_cannot_be_kept_refuses_and_names_the_owner(path: Path) -> None:
    """contract: Command line: a command that cannot keep the owner changes nothing and says who must run it."""
    put(path, [ENTRY])
    os.chown(path, SERVICE, SERVICE)
    before = path.read_bytes()
    done = sift_key(path, "revoke", "abcdefgh", preexec_fn=drop_chown)
    assert (done.returncode, done.stdout, path.read_bytes()) == (1, "", before)
    assert f"user {pwd.getpwuid(SERVICE).pw_name} must stay its owner" in done.stderr
    assert {file.name for file in path.parent.iterdir()} == {"keys.json", "keys.json.lock"}


def test_file_mounted_by_itself_says_to_mount_its_directory(path: Path, tmp_path: Path) -> None:
    """contract: Command line: a file that is a mount of its own, as containers make them, cannot be replaced."""
    put(path, [ENTRY])
    script = 'mount --bind "$1" "$1" && exec "$2" -m sift key revoke abcdefgh'
    environ = {"PATH": os.environ["PATH"], "SIFT_KEYS_FILE": str(path)}
    command = ["unshare", "--mount", "--map-root-user", "sh", "-c", script, "sh", str(path), sys.executable]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=60, check=False)
    if "unshare:" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mounts of its own: {done.stderr.strip()}")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "mount the directory" in done.stderr
    assert list_keys(path)[0].disabled is False


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
