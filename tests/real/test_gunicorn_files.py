"""What the running service writes: its state directory and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.real.programs import new_key
from tests.service import ROOT, Service
from tests.vendors import Vendors


def tree(*directories: Path) -> set[Path]:
    """Return everything below these directories."""
    return {path for directory in directories for path in directory.rglob("*")}


def processes(pid: int) -> Iterator[int]:
    """Yield the ids of a process and all its descendants."""
    yield pid
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from processes(int(child))


def written(pid: int) -> Iterator[Path]:
    """Yield the files that a process has open for writing."""
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed in the meantime: a client's connection
            target = entry.readlink()
            flags = Path(f"/proc/{pid}/fdinfo/{entry.name}").read_text().split("flags:")[1].split()[0]
            if target.is_absolute() and int(flags, 8) & (os.O_WRONLY | os.O_RDWR):
                yield target


def test_service_writes_nowhere_but_its_state_directory(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Operations: no control socket, no temporary file, nothing in home, working or runtime directory."""
    places = {name: tmp_path / name for name in ("home", "work", "runtime", "tmp")}
    for place in places.values():
        place.mkdir()
    new_key(tmp_path / "state", "someone", "fleet")
    environ = {
        "HOME": str(places["home"]),
        "XDG_RUNTIME_DIR": str(places["runtime"]),
        "TMPDIR": str(places["tmp"]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SIFT_STATE_DIR": str(tmp_path / "state"),
    }
    arguments = ["--chdir", str(places["work"]), "--pythonpath", str(ROOT)]
    with Service(tmp_path, vendors.environ | environ, arguments) as service:
        service.search("anything")
        service.search("anything else", topic="news")
        assert service.process is not None
        pids = list(processes(service.process.pid))
        while_running = tree(*places.values())
        open_files = {path for pid in pids for path in written(pid)}
    assert len(pids) == 2
    assert while_running | tree(*places.values()) == set()
    found = tree(tmp_path / "state")
    assert not list((tmp_path / "state" / "usage").iterdir())
    state = {path.name for path in found if not any("metrics-" in part for part in path.parts)} - {"usage"}
    assert state <= {"keys.json", "keys.json.lock", "ledger.sqlite3", "ledger.sqlite3-wal", "ledger.sqlite3-shm"}
    ours = {path for path in open_files if path.is_relative_to(tmp_path / "state")}
    heartbeat = {path for path in open_files if path.parent == Path("/dev/shm") and path.name.endswith("(deleted)")}
    assert ours
    assert open_files - ours - heartbeat - {Path("/dev/null"), service.log_path} == set()


def test_state_directory_is_private(vendors: Vendors, tmp_path: Path) -> None:
    """contract: Callers, Credits: nobody else can read what Sift creates there."""
    with Service(tmp_path, vendors.environ) as service:
        service.search("anything")
        assert service.state_dir.stat().st_mode & 0o777 == 0o700
        assert (service.state_dir / "ledger.sqlite3").is_file()
