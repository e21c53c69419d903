from __future__ import annotations

import json
import logging
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sift.auth.caller import Caller
from sift.auth.identify import KeyFile
from sift.errors import ConfigError, UnauthorizedError
from tests.auth.keyfiles import ENTRY, NOW, SECRET, TOKEN, put
from tests.fakes import FakeClock
from tests.service import ROOT


@pytest.fixture
def key_file(path: Path) -> Callable[..., KeyFile]:
    """Return a function that makes a key file of the one valid key, changed by keywords."""

    def make(clock: Callable[[], float] = time.monotonic, **changes: Any) -> KeyFile:
        put(path, [ENTRY | changes])
        return KeyFile(path, now=lambda: NOW, clock=clock, look_every=0)

    return make


def is_known(keys: KeyFile, authorization: str | None) -> bool:
    try:
        keys.identify(authorization)
    except UnauthorizedError:
        return False
    return True


# --- callers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER   {TOKEN}", f"bEaReR\t {TOKEN} "])
def test_valid_key_returns_its_caller(key_file: Any, header: str) -> None:
    """contract: Callers: the scheme's case and blanks around the token do not matter; name and class are the key's."""
    assert key_file().identify(header) == Caller("bot", "restricted")
    assert key_file(**{"class": "fleet"}).identify(header) == Caller("bot", "fleet")


BAD_HEADERS = {
    "none": None,
    "empty": "",
    "scheme alone": "Bearer",
    "basic": f"Basic {TOKEN}",
    "no blank": f"Bearer{TOKEN}",
    "token alone": TOKEN,
    "two tokens": f"Bearer {TOKEN} {TOKEN}",
    "prefix case": f"Bearer Sift{TOKEN[4:]}",
    "id case": f"Bearer sift_ABCDEFGH_{SECRET}",
    "unknown id": f"Bearer sift_hgfedcba_{SECRET}",
    "wrong secret": f"Bearer sift_abcdefgh_{'t' * 43}",
    "short secret": f"Bearer {TOKEN[:-1]}",
    "long secret": f"Bearer {TOKEN}s",
    "no secret": "Bearer sift_abcdefgh_",
    "latin-1 secret": f"Bearer {TOKEN[:-1]}\xe9",
    "surrogate": f"Bearer {TOKEN[:-1]}\udcff",
    "no-break blank": f"Bearer\xa0{TOKEN}",
    "line feed": f"Bearer {TOKEN}\n",
}


@pytest.mark.parametrize("header", BAD_HEADERS.values(), ids=BAD_HEADERS)
def test_anything_else_is_refused_alike(key_file: Any, header: str | None) -> None:
    """contract: Callers: every other header is refused with the same error, which does not quote it."""
    with pytest.raises(UnauthorizedError) as refusal:
        key_file().identify(header)
    assert str(refusal.value) == "unauthorized"


def test_expired_and_disabled_are_refused(key_file: Any) -> None:
    """contract: Callers: a key ends at the second it names; a disabled one is never valid."""
    assert is_known(key_file(expires="2026-09-29T12:00:01Z"), f"Bearer {TOKEN}")
    assert not is_known(key_file(expires="2026-09-29T12:00:00Z"), f"Bearer {TOKEN}")
    assert is_known(key_file(disabled=False), f"Bearer {TOKEN}")
    assert not is_known(key_file(disabled=True), f"Bearer {TOKEN}")


def test_keys_may_share_a_name(path: Path) -> None:
    """contract: Callers: keys are rotated by two ids under one name."""
    put(path, [ENTRY, ENTRY | {"id": "ABCDEFG7", "class": "fleet"}])
    keys = KeyFile(path, now=lambda: NOW, look_every=0)
    assert keys.identify(f"Bearer {TOKEN}") == ("bot", "restricted")
    assert keys.identify(f"Bearer sift_ABCDEFG7_{SECRET}") == ("bot", "fleet")


# --- the start -----------------------------------------------------------------------------------------------------

MALFORMED = {
    "text": b"sift_secret",
    "object": {},
    "entry not an object": ["sift_secret"],
    "latin-1": '[{"name": "\xfc"}]'.encode("latin-1"),
    "truncated": json.dumps([ENTRY]).encode()[:-1],
    "deep": b"[" * 100_000,
    "same id twice": [ENTRY, ENTRY | {"name": "other"}],
    "unknown field": [ENTRY | {"expire": "2026-01-01T00:00:00Z"}],
    **{f"no {name}": [{key: value for key, value in ENTRY.items() if key != name}] for name in ENTRY},
    "id letters": [ENTRY | {"id": "abcdefg1"}],
    "id line": [ENTRY | {"id": "abcdefgh\n"}],
    "id number": [ENTRY | {"id": 12345678}],
    "name empty": [ENTRY | {"name": ""}],
    "name long": [ENTRY | {"name": "n" * 65}],
    "name control": [ENTRY | {"name": "a\x1b[31m"}],
    "name list": [ENTRY | {"name": ["bot"]}],
    "class case": [ENTRY | {"class": "Fleet"}],
    "class list": [ENTRY | {"class": ["fleet"]}],
    "hash short": [ENTRY | {"sha256": "ab"}],
    "hash upper": [ENTRY | {"sha256": ENTRY["sha256"].upper()}],
    "created zone": [ENTRY | {"created": "2026-09-01T00:00:00+00:00"}],
    "created day": [ENTRY | {"created": "2026-02-30T00:00:00Z"}],
    "created digits": [ENTRY | {"created": "２０２６-09-01T00:00:00Z"}],
    "expires null": [ENTRY | {"expires": None}],
    "expires span": [ENTRY | {"expires": "90d"}],
    "disabled number": [ENTRY | {"disabled": 0}],
}
UNUSABLE = {
    "none": [],
    "expired": [ENTRY | {"expires": "2026-09-29T12:00:00Z"}],
    "disabled": [ENTRY | {"disabled": True}],
    "both": [ENTRY | {"disabled": True}, ENTRY | {"id": "hgfedcba", "expires": "2026-01-01T00:00:00Z"}],
}


@pytest.mark.parametrize("content", (MALFORMED | UNUSABLE).values(), ids=MALFORMED | UNUSABLE)
def test_unfit_file_stops_the_start(path: Path, content: object) -> None:
    """contract: Settings: fails closed, with one line that quotes nothing of the file."""
    put(path, content)
    with pytest.raises(ConfigError) as refusal:
        KeyFile(path, now=lambda: NOW, look_every=0).check()
    text = str(refusal.value)
    assert text.startswith("SIFT_KEYS_FILE")
    assert "\n" not in text
    assert "sift_secret" not in text
    assert ENTRY["sha256"][:8] not in text


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o700, 0o4600])
def test_wide_mode_stops_the_start(path: Path, mode: int) -> None:
    """contract: Callers: a mode wider than 0600 stops the start."""
    put(path, [ENTRY], mode)
    with pytest.raises(ConfigError, match=f"mode {mode:04o}"):
        KeyFile(path, now=lambda: NOW, look_every=0).check()


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_private_file_starts(path: Path, mode: int) -> None:
    """contract: Callers: mode 0600 or narrower is accepted, and so is a byte order mark."""
    put(path, b"\xef\xbb\xbf" + json.dumps([ENTRY]).encode(), mode)
    keys = KeyFile(path, now=lambda: NOW, look_every=0)
    keys.check()
    assert is_known(keys, f"Bearer {TOKEN}")


def test_anything_but_a_regular_file_stops_the_start(tmp_path: Path) -> None:
    """contract: Settings: missing, a directory, a pipe, below a file, a dangling link: refused without blocking."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("absent", ".", "pipe", "file/keys.json", "link", "new\nline"):
        with pytest.raises(ConfigError, match=r"\ASIFT_KEYS_FILE.*\Z"):
            KeyFile(tmp_path / name).check()


# --- while it runs -------------------------------------------------------------------------------------------------


def test_changed_file_is_followed(key_file: Any, path: Path) -> None:
    """contract: Callers: new, disabled and removed keys take effect with the next request; without a usable key nobody
    is let in.
    """
    keys = key_file()
    keys.check()
    other = ENTRY | {"id": "hgfedcba", "name": "other"}
    assert not is_known(keys, f"Bearer sift_hgfedcba_{SECRET}")
    put(path, [ENTRY, other])
    assert keys.identify(f"Bearer sift_hgfedcba_{SECRET}").name == "other"
    put(path, [ENTRY | {"disabled": True}, other])
    assert not is_known(keys, f"Bearer {TOKEN}")
    put(path, [])
    assert not is_known(keys, f"Bearer sift_hgfedcba_{SECRET}")


def test_replacement_of_the_same_size_and_time_is_followed(key_file: Any, path: Path) -> None:
    """contract: Callers: a replacement with the time and size of the old file is noticed."""
    keys = key_file()
    assert is_known(keys, f"Bearer {TOKEN}")
    before = path.stat()
    put(path, [ENTRY | {"id": "hgfedcba"}])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not is_known(keys, f"Bearer {TOKEN}")


BREAKS: dict[str, Callable[[Path], object]] = {
    "malformed": lambda path: put(path, b"sift_secret"),
    "wrong shape": lambda path: put(path, [ENTRY, {"id": "sift_secret"}]),
    "wide": lambda path: put(path, [], 0o644),
    "chmod": lambda path: path.chmod(0o604),
    "vanished": Path.unlink,
    "directory": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("damage", BREAKS.values(), ids=BREAKS)
def test_unusable_file_keeps_the_old_keys_and_says_so_once(
    key_file: Any, path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], object]
) -> None:
    """contract: Callers: an unusable file leaves the old keys valid, with one error that quotes neither path nor
    content.
    """
    caplog.set_level(logging.DEBUG)
    keys = key_file()
    keys.check()
    damage(path)
    for _ in range(3):
        assert is_known(keys, f"Bearer {TOKEN}")
        assert not is_known(keys, "Bearer sift_hgfedcba_" + "s" * 43)
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == ("sift.auth", "ERROR", "key_file_unusable")
    fields: dict[str, str] = record.__dict__["fields"]
    assert (set(fields), fields["keys"]) == ({"reason", "keys"}, "kept")
    assert "sift_secret" not in fields["reason"]
    assert "keys.json" not in fields["reason"]


def test_repaired_file_is_followed_again(key_file: Any, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """contract: Callers: after an unusable file the next valid one takes effect, if only by a chmod."""
    keys = key_file()
    keys.check()
    put(path, [ENTRY | {"name": "renamed"}], 0o644)
    assert keys.identify(f"Bearer {TOKEN}").name == "bot"
    path.chmod(0o600)
    assert keys.identify(f"Bearer {TOKEN}").name == "renamed"
    put(path, b"broken")
    assert keys.identify(f"Bearer {TOKEN}").name == "renamed"
    assert len(caplog.records) == 2


def test_unusable_file_is_reported_each_minute_and_lets_nobody_in_after_ten(
    key_file: Any, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """contract: Callers: a key revoked in a file that cannot be read must not stay valid for ever."""
    clock = FakeClock(1000.0)
    keys = key_file(clock=clock)
    keys.check()
    path.chmod(0o644)
    for second in range(600):
        clock.now = 1000.0 + second
        assert is_known(keys, f"Bearer {TOKEN}"), second
    assert [record.__dict__["fields"]["keys"] for record in caplog.records] == ["kept"] * 10
    for second in range(600, 700):
        clock.now = 1000.0 + second
        assert not is_known(keys, f"Bearer {TOKEN}"), second
    assert [record.__dict__["fields"]["keys"] for record in caplog.records[10:]] == ["none"] * 2
    path.chmod(0o600)
    assert is_known(keys, f"Bearer {TOKEN}")


def test_file_that_could_not_be_read_is_read_again_although_it_did_not_change(key_file: Any, path: Path) -> None:
    """contract: Callers: a revocation that met a process out of descriptors takes effect a second later."""
    clock = FakeClock(1000.0)
    keys = key_file(clock=clock)
    keys.check()
    put(path, [ENTRY | {"disabled": True}])
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        assert is_known(keys, f"Bearer {TOKEN}")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    clock.tick(1.0)
    assert not is_known(keys, f"Bearer {TOKEN}")


FORK = """
import os, sys
from pathlib import Path
from sift.auth.identify import KeyFile

path = Path(sys.argv[1])
keys = KeyFile(path)
keys.check()
path.write_text("broken")
keys.follow()
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert keys.identify("Bearer " + sys.argv[2]).name == "bot"
"""


def test_process_forked_while_the_file_is_unusable_has_the_keys_read_before(path: Path) -> None:
    """contract: Callers: only the first start refuses; a worker started later takes the keys of its master."""
    put(path, [ENTRY])
    done = subprocess.run(
        [sys.executable, "-c", FORK, str(path), TOKEN],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_missing_file_lets_nobody_in(path: Path) -> None:
    """contract: Callers: without a file that was ever read there is no caller."""
    assert not is_known(KeyFile(path), f"Bearer {TOKEN}")


def test_many_threads_and_a_changing_file_agree(path: Path) -> None:
    """contract: Callers: requests during a change see the old keys or the new ones, never none."""
    put(path, [ENTRY])
    keys = KeyFile(path, now=lambda: NOW, look_every=0)
    keys.check()
    refused: list[str] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            if not is_known(keys, f"Bearer {TOKEN}"):
                refused.append("refused")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(200):
        put(path, b"broken" if number % 3 == 2 else [ENTRY | {"name": str(number)}])
    over.set()
    for thread in threads:
        thread.join()
    assert refused == []
