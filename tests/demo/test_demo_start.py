"""`sift.demo.start`: once a process, on loopback, nothing at import."""

from __future__ import annotations

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import sift.demo

if TYPE_CHECKING:
    from conftest import Client


# From Python 3.12 a fork beside a thread, here the demo server's, is warned of; that fork is what is tried.
FORK_BESIDE_THREADS = "warnings.filterwarnings('ignore', '.* is multi-threaded', DeprecationWarning)"


def run(script: str) -> list[str]:
    """Run a script in a fresh interpreter and return its lines; whatever it says on stderr fails the test."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.stdout.split()


def test_import_starts_and_reads_nothing() -> None:
    """contract: Demo: the server starts on first use, not at import."""
    script = (
        "import sys, threading, sift.demo\n"
        "print(threading.active_count(), 'pydoc_data.topics' in sys.modules, sift.demo._server is None)\n"
    )
    assert run(script) == ["1", "False", "True"]


def test_import_loads_no_part_of_the_demo() -> None:
    """contract: Demo: the wiring imports it always; with the demo off it takes no memory."""
    assert run("import sys, sift.demo\nprint(*(name for name in sys.modules if 'demo.' in name))") == []


def test_demo_imports_nothing_of_sift_but_itself_and_errors() -> None:
    """`sift.demo` may import only `sift.errors`."""
    loaded = run("import sys, sift.demo\nprint(*(name for name in sys.modules if name.startswith('sift.')))")
    assert all(name == "sift.errors" or name.startswith("sift.demo") for name in loaded)


def test_start_twice_and_from_many_threads_gives_one_address(demo: Client) -> None:
    """contract: Demo: one server a worker, however many requests arrive first."""
    with ThreadPoolExecutor(16) as pool:
        assert {future.result() for future in [pool.submit(sift.demo.start, "searxng") for _ in range(64)]} == {
            f"{demo.base}/search"
        }


def test_first_start_from_many_threads_gives_one_server() -> None:
    """contract: Demo: the first use is thread-safe."""
    script = (
        "import threading, sift.demo\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(16) as pool:\n"
        "    urls = set(pool.map(lambda _: sift.demo.start('searxng'), range(64)))\n"
        "print(len(urls), sum(thread.name == 'sift-demo' for thread in threading.enumerate()))\n"
    )
    assert run(script) == ["1", "1"]


def test_address_is_loopback_and_bound_to_nothing_else(demo: Client) -> None:
    """contract: Demo: binds to 127.0.0.1 only."""
    assert demo.base == f"http://127.0.0.1:{demo.address[1]}"
    with pytest.raises(OSError, match=r"refused|assign|unreachable|timed out"):
        socket.create_connection(("127.0.0.2", demo.address[1]), timeout=5)


@pytest.mark.parametrize("before_fork", ["pass", "sift.demo._lock.acquire()"], ids=["idle", "lock held by a thread"])
def test_forked_child_starts_its_own_server(before_fork: str) -> None:
    """contract: Demo: inside each worker; a fork after the start shares neither port nor lock with its parent."""
    script = f"""
import os, warnings, urllib.request, sift.demo
{FORK_BESIDE_THREADS}
parent = sift.demo.start('searxng')
{before_fork}
child = os.fork()
own = parent if child else sift.demo.start('searxng')
with urllib.request.urlopen(own + "?q=dict&format=json") as response:
    print(own, response.status, flush=True)
if child == 0:
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    *answers, code = run(script)
    assert code == "0"
    assert answers[1::2] == ["200", "200"]
    assert len(set(answers[::2])) == 2


def test_forked_child_does_not_hold_its_parents_port() -> None:
    """contract: Demo: a worker that outlives another keeps no deaf socket listening."""
    script = f"""
import os, socket, urllib.parse, warnings, sift.demo
{FORK_BESIDE_THREADS}
answer, tell = os.pipe()
hold, release = os.pipe()
worker = os.fork()
if worker == 0:
    url = sift.demo.start("searxng")
    if os.fork() == 0:  # it outlives the worker, until the script ends
        os.close(release)
        os.write(tell, url.encode())
        os.read(hold, 1)
    os._exit(0)
port = urllib.parse.urlsplit(os.read(answer, 99)).port
os.waitpid(worker, 0)
try:
    socket.create_connection(("127.0.0.1", port), timeout=5).close()
    print("open")
except ConnectionRefusedError:
    print("refused")
"""
    assert run(script) == ["refused"]
