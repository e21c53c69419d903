"""Lines on a file descriptor, whose reader may be slow or gone (contract: Log)."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sift.output import Lines, lines_to
from tests.waiting import wait_for


def report(count: int) -> bytes:
    """Return the line that tells how many were dropped."""
    return b"dropped %d\n" % count


class Reader:
    """A descriptor that takes so many more bytes; then it blocks, or fails."""

    def __init__(self, room: int, error: type[OSError] = BlockingIOError) -> None:
        self.room = room
        self.error = error
        self.got = b""
        self.waits = 0
        self.lines = Lines(self.write, self.wait, report)

    def write(self, data: bytes) -> int:
        if not self.room:
            raise self.error
        taken = data[: self.room]
        self.room -= len(taken)
        self.got += taken
        return len(taken)

    def wait(self) -> None:
        self.waits += 1


def test_reader_stops_lines_are_dropped_and_counted_later() -> None:
    """contract: Log: one bounded wait, no more while nobody reads, and the number of lines once somebody does."""
    reader = Reader(4)
    assert [reader.lines(b"%d..\n" % number) for number in range(4)] == [True, False, False, False]
    assert reader.waits == 1
    reader.room = 100
    assert reader.lines(b"4..\n")
    assert reader.lines(b"5..\n")
    assert reader.got == b"0..\ndropped 3\n4..\n5..\n"


def test_reader_goes_on_within_the_wait_nothing_is_dropped() -> None:
    """contract: Log: a reader that is only slow loses nothing."""
    reader = Reader(0)
    reader.wait = lambda: setattr(reader, "room", 100)  # type: ignore[method-assign]
    reader.lines = Lines(reader.write, reader.wait, report)
    assert reader.lines(b"line\n")
    assert reader.got == b"line\n"


def test_little_room_the_rest_of_a_line_follows() -> None:
    """contract: Log: what was begun is ended, so that the next line is one of its own."""
    reader = Reader(2)
    lines = Lines(reader.write, lambda: setattr(reader, "room", 100), report)
    assert lines(b"line\n")
    assert reader.got == b"line\n"


def test_descriptor_fails_nobody_waits_and_nothing_is_raised() -> None:
    """A full disk, a reader that has gone: waiting would not help."""
    reader = Reader(0, BrokenPipeError)
    assert not reader.lines(b"line\n")
    assert reader.waits == 0


@pytest.fixture(params=["pipe", "socket", "pipe of another user"])
def ends(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[int, Callable[[], bytes]]]:
    """Return a descriptor to write to, and a function that reads what has come."""
    if request.param == "socket":
        one, other = socket.socketpair()
        write_end, read_end = one.detach(), other.detach()
    else:
        read_end, write_end = os.pipe()
    if request.param == "pipe of another user":
        opened = os.open
        monkeypatch.setattr(os, "open", lambda path, *rest: opened(Path("/nowhere") / path.lstrip("/"), *rest))

    def read() -> bytes:
        os.set_blocking(read_end, False)
        got = b""
        with suppress(BlockingIOError):
            while more := os.read(read_end, 65_536):
                got += more
        return got

    yield write_end, read
    os.close(read_end)
    os.close(write_end)


def test_nobody_reads_every_thread_goes_on(ends: tuple[int, Callable[[], bytes]]) -> None:
    """contract: Log: whatever stderr is, a full one holds up nobody for long, and what does arrive is whole."""
    descriptor, read = ends
    lines = lines_to(descriptor, lambda count: json.dumps({"dropped": count}).encode() + b"\n", patience=0.01)
    line = json.dumps({"line": "x" * 200}).encode() + b"\n"
    threads = [threading.Thread(target=lambda: [lines(line) for _ in range(2000)], daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    wait_for(lambda: not any(thread.is_alive() for thread in threads))
    assert os.get_blocking(descriptor)  # the descriptor is shared with other processes
    first = read()
    assert lines(line)
    records = [json.loads(each) for each in (first + read()).splitlines()]
    assert sum(record.get("dropped", 1) for record in records) == 4 * 2000 + 1
    assert records[-2].keys() == {"dropped"}


def test_file_is_appended_to_where_its_other_writers_are(tmp_path: Path) -> None:
    """A file of which stdout is another name must not be written over."""
    with (tmp_path / "log").open("wb", buffering=0) as file:
        lines = lines_to(file.fileno(), report)
        file.write(b"welcome\n")
        assert lines(b"line\n")
        file.write(b"again\n")
    assert (tmp_path / "log").read_bytes() == b"welcome\nline\nagain\n"


@pytest.mark.parametrize("mode", [os.O_RDONLY, os.O_WRONLY], ids=["read-only", "full"])
def test_nothing_can_be_written_lines_are_dropped(mode: int) -> None:
    """A stderr that is read-only or full ends nothing."""
    descriptor = os.open("/dev/full", mode)
    try:
        assert not lines_to(descriptor, report)(b"line\n")
    finally:
        os.close(descriptor)


def test_every_dropped_line_is_told_at_once() -> None:
    """contract: Metrics: `sift_log_lines_dropped_total` does not wait for a reader to come back."""
    reader, told = Reader(4), []
    reader.lines.dropped = lambda: told.append(1)
    for number in range(4):
        reader.lines(b"%d..\n" % number)
    assert len(told) == 3
