from __future__ import annotations

import json
import re
import shlex
import subprocess
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sift.app import MAKE_A_KEY
from sift.auth.caller import Caller
from sift.auth.identify import KeyFile

TOKEN = re.compile(r"sift_[a-z2-7]{8}_[A-Za-z0-9_-]{43}\n")


@pytest.fixture
def path(environ: dict[str, str]) -> Path:
    return Path(environ["SIFT_KEYS_FILE"])


def test_life_of_a_key(run: Any, path: Path) -> None:
    """contract: Callers: `new` prints the token alone and once, `list` shows no secret, `revoke` disables the key."""
    made = run("key", "new", "--name", "bot ü", "--class", "restricted", "--expires", "90d")
    token = made.stdout.strip()
    assert made.returncode == 0
    assert TOKEN.fullmatch(made.stdout)
    assert token not in made.stderr
    assert KeyFile(path).identify(f"Bearer {token}") == Caller("bot ü", "restricted")
    entry = json.loads(path.read_text())[0]
    assert datetime.fromisoformat(entry["expires"]) - datetime.fromisoformat(entry["created"]) == timedelta(days=90)

    _, key_id, secret = token.split("_", 2)
    listed = run("key", "list")
    assert listed.stdout.split()[:3] == [key_id, "restricted", "active"]
    assert listed.stdout.endswith("bot ü\n")
    assert secret not in listed.stdout + path.read_text()
    assert entry["sha256"] not in listed.stdout

    assert run("key", "revoke", key_id).returncode == 0
    assert run("key", "list").stdout.split()[2] == "disabled"
    assert run("search", "x", SIFT_TOKEN=token).returncode == 0  # the fake service accepts any


def test_name_of_one_key_revokes_it(call: Any, path: Path) -> None:
    """contract: Command line: a name stands for its key while only one usable key has it."""
    tokens = [call("key", "new", "--name", "bot", "--class", "fleet").stdout.strip() for _ in range(2)]
    ids = [token.split("_")[1] for token in tokens]
    refused = call("key", "revoke", "bot")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert all(key_id in refused.stderr for key_id in ids)
    assert call("key", "revoke", ids[0]).returncode == 0
    for _ in range(2):  # the second time, no key with this name is usable, and both have it
        done = call("key", "revoke", "bot")
    assert (done.returncode, all(key_id in done.stderr for key_id in ids)) == (2, True)
    assert [row.split()[2] for row in call("key", "list").stdout.splitlines()] == ["disabled", "disabled"]


def test_id_of_a_key_comes_before_a_name_that_looks_like_it(call: Any) -> None:
    """contract: Command line: naming one key as the id of another does not redirect a revocation."""
    first = call("key", "new", "--name", "one", "--class", "fleet").stdout.split("_")[1]
    call("key", "new", "--name", first, "--class", "fleet")
    assert call("key", "revoke", first).returncode == 0
    assert [row.split()[2] for row in call("key", "list").stdout.splitlines()] == ["disabled", "active"]


def test_place_of_the_file_follows_the_settings(call: Any, path: Path, tmp_path: Path) -> None:
    """contract: Settings: SIFT_KEYS_FILE, else the state directory's keys.json, else the XDG place, else below HOME."""
    places = {
        tmp_path / "a" / "keys.json": {"SIFT_STATE_DIR": str(tmp_path / "a"), "XDG_STATE_HOME": "/elsewhere"},
        tmp_path / "b" / "sift" / "keys.json": {"XDG_STATE_HOME": str(tmp_path / "b")},
        tmp_path / ".local" / "state" / "sift" / "keys.json": {},
    }
    for place, settings in places.items():
        assert call("key", "new", "--name", "n", "--class", "fleet", SIFT_KEYS_FILE="", **settings).returncode == 0
        assert len(json.loads(place.read_text())) == 1
    assert not path.exists()


REFUSED = {
    "class": (("new", "--name", "n", "--class", "Fleet"), "--class"),
    "no class": (("new", "--name", "n"), "--class"),
    "empty name": (("new", "--name", " ", "--class", "fleet"), "--name"),
    "control in name": (("new", "--name", "a\nb", "--class", "fleet"), "--name"),
    "surrogate in name": (("new", "--name", "a\udcffb", "--class", "fleet"), "--name"),
    "expires": (("new", "--name", "n", "--class", "fleet", "--expires", "90"), "--expires"),
    "expires empty": (("new", "--name", "n", "--class", "fleet", "--expires", ""), "--expires"),
    "unknown id": (("revoke", "zzzzzzzz"), "ID"),
    "unknown command": (("delete", "x"), "delete"),
}


@pytest.mark.parametrize(("arguments", "named"), REFUSED.values(), ids=REFUSED)
def test_refused_command_changes_nothing(call: Any, path: Path, arguments: tuple[str, ...], named: str) -> None:
    """contract: Callers: a refused `sift key` command is a usage error that names its reason and leaves the file
    alone.
    """
    nothing = call("key", *arguments)
    assert (nothing.returncode, nothing.stdout, path.parent.exists()) == (2, "", False)
    assert call("key", "new", "--name", "first", "--class", "fleet").returncode == 0
    before = path.read_bytes(), path.stat()
    done = call("key", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
    assert (path.read_bytes(), path.stat()) == before


@pytest.mark.parametrize("command", [("new", "--name", "n", "--class", "fleet"), ("list",), ("revoke", "abcdefgh")])
@pytest.mark.parametrize("fault", ["malformed", "wide"])
def test_broken_file_is_refused_and_untouched(call: Any, path: Path, command: tuple[str, ...], fault: str) -> None:
    """contract: Callers: a malformed or too wide key file is never rewritten."""
    path.parent.mkdir(mode=0o700)
    path.write_text("[]" if fault == "wide" else '[{"id": "a secret"}]')
    path.chmod(0o640 if fault == "wide" else 0o600)
    before = path.read_bytes(), path.stat()
    done = call("key", *command)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "SIFT_KEYS_FILE" in done.stderr
    assert "a secret" not in done.stderr
    assert (path.read_bytes(), path.stat()) == before


def test_unwritable_place_is_one_line(call: Any, tmp_path: Path) -> None:
    """contract: Command line: an error of the operating system is exit code 1 and one line."""
    (tmp_path / "file").write_text("")
    done = call("key", "new", "--name", "n", "--class", "fleet", SIFT_KEYS_FILE=str(tmp_path / "file" / "keys.json"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)


def test_list_of_nothing_says_how_to_begin(call: Any) -> None:
    """contract: Command line: an empty list is not an error."""
    done = call("key", "list")
    assert (done.returncode, done.stdout) == (0, "")
    assert "sift key new" in done.stderr


def test_commands_at_once_lose_no_key(environ: dict[str, str], path: Path) -> None:
    """contract: Callers: `sift key` commands that run at the same moment wait for each other."""
    command = ["sift", "key", "new", "--class", "fleet", "--name"]
    running = [subprocess.Popen([*command, str(n)], env=environ, stdout=subprocess.PIPE, text=True) for n in range(8)]
    tokens = [process.communicate(timeout=60)[0].strip() for process in running]
    keys = KeyFile(path)
    assert {keys.identify(f"Bearer {token}").name for token in tokens} == set("01234567")


def test_command_that_a_refused_start_names_makes_a_key(call: Any, path: Path) -> None:
    """The command that an operator is told to type works as printed, its two placeholders filled in."""
    name, *arguments = shlex.split(MAKE_A_KEY.replace("CLASS", "fleet"))
    done = call(*arguments)
    assert (name, done.returncode) == ("sift", 0)
    KeyFile(path).check()
