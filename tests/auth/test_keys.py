from __future__ import annotations

import json
import logging
import os
import stat
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sift.auth.caller import Caller
from sift.auth.keys import KeyFile, list_keys, new_key, revoke
from sift.errors import ConfigError, UnauthorizedError

NOW = datetime(2026, 9, 29, 12, tzinfo=UTC)
SECRET = "_-" + "s" * 40 + "_"  # 43 characters, and underscores where a careless split would cut
TOKEN = f"sift_abcdefgh_{SECRET}"
ENTRY = {
    "id": "abcdefgh",
    "name": "bot",
    "class": "restricted",
    "sha256": sha256(SECRET.encode()).hexdigest(),
    "created": "2026-09-01T00:00:00Z",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "keys.json"


def put(path: Path, content: object, mode: int = 0o600) -> None:
    """Replace the key file as an editor does; content that is no text is written as JSON."""
    draft = path.with_suffix(".draft")
    draft.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    draft.chmod(mode)
    draft.replace(path)


@pytest.fixture
def key_file(path: Path) -> Callable[..., KeyFile]:
    """Give a checked key file holding the one good key, changed by keywords."""

    def make(**changes: Any) -> KeyFile:
        put(path, [ENTRY | changes])
        return KeyFile(path, now=lambda: NOW, look_every=0)

    return make


def is_known(keys: KeyFile, authorization: str | None) -> bool:
    try:
        keys.identify(authorization)
    except UnauthorizedError:
        return False
    return True


# --- who calls -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("header", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER   {TOKEN}", f"bEaReR\t {TOKEN} "])
def test_good_key_gives_its_caller(key_file: Any, header: str) -> None:
    """B205, B206: the scheme's case and the blanks behind it do not count; name and class are the key's."""
    assert key_file().identify(header) == Caller("bot", "restricted")
    assert key_file(**{"class": "fleet"}).identify(header) == Caller("bot", "fleet")


BAD_HEADERS = {
    "none": None,
    "empty": "",
    "scheme alone": "Bearer",
    "blank": "Bearer  ",
    "basic": f"Basic {TOKEN}",
    "no blank": f"Bearer{TOKEN}",
    "token alone": TOKEN,
    "two tokens": f"Bearer {TOKEN} {TOKEN}",
    "upper case": f"Bearer {TOKEN.upper()}",
    "prefix case": f"Bearer Sift{TOKEN[4:]}",
    "id case": f"Bearer sift_ABCDEFGH_{SECRET}",
    "unknown id": f"Bearer sift_hgfedcba_{SECRET}",
    "wrong secret": f"Bearer sift_abcdefgh_{'t' * 43}",
    "short secret": f"Bearer {TOKEN[:-1]}",
    "long secret": f"Bearer {TOKEN}s",
    "no secret": "Bearer sift_abcdefgh_",
    "no parts": "Bearer sift",
    "hash as secret": f"Bearer sift_abcdefgh_{ENTRY['sha256'][:43]}",
    "latin-1": "Bearer caf\xe9",
    "latin-1 secret": f"Bearer {TOKEN[:-1]}\xe9",
    "full-width": "Bearer \uff53ift_abcdefgh_" + SECRET,
    "surrogate": f"Bearer {TOKEN[:-1]}\udcff",
    "no-break blank": f"Bearer\xa0{TOKEN}",
    "line feed": f"Bearer {TOKEN}\n",
    "nul": f"Bearer {TOKEN}\0",
}


@pytest.mark.parametrize("header", BAD_HEADERS.values(), ids=BAD_HEADERS)
def test_anything_else_is_refused_alike(key_file: Any, header: str | None) -> None:
    """B180, B200, B202, B204, B206: every other header is the same refusal, which says nothing of the header."""
    with pytest.raises(UnauthorizedError) as refusal:
        key_file().identify(header)
    assert str(refusal.value) == "unauthorized"


def test_expired_and_disabled_are_refused(key_file: Any) -> None:
    """Contract §3: a key ends at the second it names; a disabled one never opens."""
    assert is_known(key_file(expires="2026-09-29T12:00:01Z"), f"Bearer {TOKEN}")
    assert not is_known(key_file(expires="2026-09-29T12:00:00Z"), f"Bearer {TOKEN}")
    assert is_known(key_file(disabled=False), f"Bearer {TOKEN}")
    assert not is_known(key_file(disabled=True), f"Bearer {TOKEN}")


def test_keys_may_share_a_name(path: Path) -> None:
    """Contract §3: two ids under one name are how a key is rotated."""
    put(path, [ENTRY, ENTRY | {"id": "ABCDEFG7", "class": "fleet"}])
    keys = KeyFile(path, now=lambda: NOW, look_every=0)
    assert keys.identify(f"Bearer {TOKEN}") == ("bot", "restricted")
    assert keys.identify(f"Bearer sift_ABCDEFG7_{SECRET}") == ("bot", "fleet")


def test_repr_shows_neither_secret_nor_hash(key_file: Any, path: Path) -> None:
    """B180: what a log may print of a key is its public id and name."""
    key_file()
    shown = repr(list_keys(path))
    assert "abcdefgh" in shown
    assert ENTRY["sha256"][:8] not in shown
    assert repr(bytes.fromhex(ENTRY["sha256"]))[2:8] not in shown


# --- the start -----------------------------------------------------------------------------------------------------

MALFORMED = {
    "empty": b"",
    "blank": b"  \n",
    "text": b"sift_secret",
    "object": {},
    "string": "sift_secret",
    "null": None,
    "entry no object": ["sift_secret"],
    "latin-1": '[{"name": "\xfc"}]'.encode("latin-1"),
    "utf-16": json.dumps([ENTRY]).encode("utf-16"),
    "cut": json.dumps([ENTRY]).encode()[:-1],
    "two documents": json.dumps([ENTRY]).encode() * 2,
    "deep": b"[" * 100_000,
    "long number": b"[" + b"1" * 5000 + b"]",
    "same id twice": [ENTRY, ENTRY | {"name": "other"}],
    "unknown field": [ENTRY | {"expire": "2026-01-01T00:00:00Z"}],
    "good and bad": [ENTRY, {}],
    **{f"no {name}": [{key: value for key, value in ENTRY.items() if key != name}] for name in ENTRY},
    "id short": [ENTRY | {"id": "abc"}],
    "id letters": [ENTRY | {"id": "abcdefg1"}],
    "id line": [ENTRY | {"id": "abcdefgh\n"}],
    "id number": [ENTRY | {"id": 12345678}],
    "name empty": [ENTRY | {"name": ""}],
    "name long": [ENTRY | {"name": "n" * 65}],
    "name control": [ENTRY | {"name": "a\x1b[31m"}],
    "name list": [ENTRY | {"name": ["bot"]}],
    "class unknown": [ENTRY | {"class": "admin"}],
    "class case": [ENTRY | {"class": "Fleet"}],
    "class list": [ENTRY | {"class": ["fleet"]}],
    "hash short": [ENTRY | {"sha256": "ab"}],
    "hash upper": [ENTRY | {"sha256": ENTRY["sha256"].upper()}],
    "hash empty": [ENTRY | {"sha256": ""}],
    "created date": [ENTRY | {"created": "2026-09-01"}],
    "created zone": [ENTRY | {"created": "2026-09-01T00:00:00+00:00"}],
    "created day": [ENTRY | {"created": "2026-02-30T00:00:00Z"}],
    "created digits": [ENTRY | {"created": "２０２６-09-01T00:00:00Z"}],
    "expires null": [ENTRY | {"expires": None}],
    "expires empty": [ENTRY | {"expires": ""}],
    "expires span": [ENTRY | {"expires": "90d"}],
    "expires local": [ENTRY | {"expires": "2027-09-01T00:00:00"}],
    "disabled text": [ENTRY | {"disabled": "false"}],
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
    """B202, B204, contract §2: fails closed, in one line that names the command and shows nothing of the file."""
    put(path, content)
    with pytest.raises(ConfigError) as refusal:
        KeyFile(path, now=lambda: NOW, look_every=0).check()
    text = str(refusal.value)
    assert text.startswith("SIFT_KEYS_FILE")
    assert "sift key new --name NAME --class CLASS" in text
    assert "\n" not in text
    assert "sift_secret" not in text
    assert ENTRY["sha256"][:8] not in text


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o700, 0o666, 0o4600])
def test_wide_mode_stops_the_start(path: Path, mode: int) -> None:
    """Contract §3: anything wider than 0600 stops the start."""
    put(path, [ENTRY], mode)
    with pytest.raises(ConfigError, match=f"mode {mode:04o}"):
        KeyFile(path, now=lambda: NOW, look_every=0).check()


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_private_file_starts(path: Path, mode: int) -> None:
    """Contract §3: 0600 and narrower are fine, and so is a byte order mark."""
    put(path, b"\xef\xbb\xbf" + json.dumps([ENTRY]).encode(), mode)
    keys = KeyFile(path, now=lambda: NOW, look_every=0)
    keys.check()
    assert is_known(keys, f"Bearer {TOKEN}")


def test_what_is_no_file_stops_the_start(tmp_path: Path) -> None:
    """Contract §2: absent, a directory, a pipe, below a file, a dangling link: refused, and never waited for."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("absent", ".", "pipe", "file/keys.json", "link", "new\nline"):
        with pytest.raises(ConfigError, match=r"\ASIFT_KEYS_FILE.*sift key new.*\Z"):
            KeyFile(tmp_path / name).check()


# --- while it runs -------------------------------------------------------------------------------------------------


def test_changed_file_is_followed(key_file: Any, path: Path) -> None:
    """Contract §3: new, disabled and removed keys count from the next request on; no usable key means 401 for all."""
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


def test_same_size_and_time_still_counts_as_changed(key_file: Any, path: Path) -> None:
    """Contract §3: a replacement with the old one's time and size is another file all the same."""
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
def test_broken_change_keeps_the_old_keys_and_warns_once(
    key_file: Any, path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], object]
) -> None:
    """Contract §3: a broken new file keeps the old keys; one warning a change, without path and content (B180)."""
    caplog.set_level(logging.DEBUG)
    keys = key_file()
    keys.check()
    damage(path)
    for _ in range(3):
        assert is_known(keys, f"Bearer {TOKEN}")
        assert not is_known(keys, "Bearer sift_hgfedcba_" + "s" * 43)
    assert [(record.name, record.levelname) for record in caplog.records] == [("sift.auth", "WARNING")]
    text = caplog.records[0].getMessage()
    assert "sift_secret" not in text
    assert "keys.json" not in text


def test_repaired_file_is_followed_again(key_file: Any, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Contract §3: after a bad change the next good one counts, a mere chmod too."""
    keys = key_file()
    keys.check()
    put(path, [ENTRY | {"name": "renamed"}], 0o644)
    assert keys.identify(f"Bearer {TOKEN}").name == "bot"
    path.chmod(0o600)
    assert keys.identify(f"Bearer {TOKEN}").name == "renamed"
    put(path, b"broken")
    assert keys.identify(f"Bearer {TOKEN}").name == "renamed"
    assert len(caplog.records) == 2


def test_unchecked_broken_file_opens_for_nobody(path: Path) -> None:
    """B204: without any readable file there is no caller."""
    assert not is_known(KeyFile(path), f"Bearer {TOKEN}")


def test_many_threads_and_a_changing_file_agree(path: Path) -> None:
    """Contract §3: requests that meet a change see the old keys or the new ones, never neither."""
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


# --- writing -------------------------------------------------------------------------------------------------------


def test_new_key_is_private_complete_and_usable(tmp_path: Path) -> None:
    """Contract §3: mode 0600 below 0700 whatever the umask, the fields of the contract, the hash of the secret."""
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
    """Contract §3: making and revoking change one entry and leave the rest, order included."""
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
    """Contract §3: a linked key file stays a link, and its target gets the key."""
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
    """Contract §3: hours, days and weeks."""
    new_key(path, "bot", "fleet", span, NOW)
    assert list_keys(path)[0].expires == NOW + length
