"""What a child gives up (contract: Page text)."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from sift.fetch.extract.sandbox import rights
from tests.service import ROOT

# A child whose extractor a page has taken over: it has entered the sandbox, and tries what it can.
BECOME = """
import ctypes, os, sys
user = int(sys.argv[1])
if user != os.geteuid():
    os.setresuid(user, user, user)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # as a service has it that was started as this user
"""
TAKEN_OVER = """
import json, socket, sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from sift.fetch.extract import sandbox
BECOME
victim, port, place = sys.argv[3:]
tries = {
    "keys": lambda: Path(f"/proc/{victim}/environ").read_bytes(),
    "memory": lambda: Path(f"/proc/{victim}/mem").open("rb").close(),
    "write": lambda: Path(place, "old").write_text("x"),
    "delete": lambda: Path(place, "old").unlink(),
    "program": lambda: os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {}),
    "connection": lambda: socket.socket().connect(("127.0.0.1", int(port))),
    "signal": lambda: os.kill(int(victim), 0),
    "itself": lambda: Path("/proc/self/status").read_text(),
    "file": lambda: Path(sandbox.__file__).read_text(),
}

def outcome(name):
    try:
        tries[name]()
    except OSError as error:
        return type(error).__name__
    return "done"

before = {name: outcome(name) for name in ("keys", "write", "signal", "connection")}
entered = sandbox.enter()
after = {name: outcome(name) for name in tries}
print(json.dumps({"before": before, "entered": entered, "after": after, "rights": sandbox.offered()}))
""".replace("BECOME", BECOME)
USERS = [0, 65534] if os.geteuid() == 0 else [os.geteuid()]


@pytest.fixture(params=USERS, ids=lambda user: f"user {user}")
def user(request: pytest.FixtureRequest) -> int:
    """Return a user as whom Sift may run."""
    number: int = request.param
    return number


@pytest.fixture
def victim(user: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process of the same user with a key in its environment; it says when it is there."""
    command = [sys.executable, "-I", "-S", "-c", BECOME + "print(flush=True); input()", str(user)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env={"SIFT_BRAVE_API_KEY": "secret"}, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline()
        yield process
        process.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has Landlock")
def test_child_that_a_page_has_taken_over_reaches_nothing(
    user: int, victim: subprocess.Popen[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """contract: Page text. Neither the service's keys nor files, programs, hosts and other processes."""

    place = tmp_path_factory.mktemp("files")
    (place / "old").touch()
    for path in (place, place / "old"):
        os.chown(path, user, -1)
    for parent in place.parents[:2]:
        parent.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as server:
        arguments = [str(user), str(ROOT), str(victim.pid), str(server.getsockname()[1]), str(place)]
        command = [sys.executable, "-I", "-S", "-B", "-c", TAKEN_OVER, *arguments]
        said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    if not said["entered"]:
        pytest.skip("this kernel has no Landlock")
    assert said["before"] == dict.fromkeys(said["before"], "done")
    after = said["after"]
    assert (after.pop("itself"), after.pop("file")) == ("done", "done")
    _, network, scope = said["rights"]
    left = {name for name, is_denied in (("connection", network), ("signal", scope)) if not is_denied}
    assert {name for name, what in after.items() if what == "done"} == left
    assert (place / "old").exists()


@pytest.mark.parametrize(
    ("version", "files", "network", "scope"),
    [(1, 0x1FFF, 0, 0), (2, 0x3FFF, 0, 0), (3, 0x7FFF, 0, 0), (4, 0x7FFF, 3, 0), (5, 0xFFFF, 3, 0), (6, 0xFFFF, 3, 3)],
)
def test_older_kernel_is_asked_for_no_more_than_it_knows(version: int, files: int, network: int, scope: int) -> None:
    """contract: Page text. It would refuse everything for one right that it does not know; reading stays."""
    assert rights(version) == (files & ~0b1100, network, scope)


def test_kernel_without_landlock_is_asked_for_nothing() -> None:
    """contract: Page text. It answers with an error, which is -1."""
    assert rights(-1) is None
    assert rights(0) is None


def test_newer_kernel_is_asked_for_what_is_known_here() -> None:
    """contract: Page text. What came later is not known to be harmless."""
    assert rights(99) == rights(6)
