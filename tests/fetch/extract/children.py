"""Children that misbehave, as programs: `python -c` runs `main` with the name of a behaviour."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sift.fetch.extract.frames import BEGUN, LENGTHS, Frame, lengths, pack

ROOT = Path(__file__).resolve().parents[3]
GOOD: dict[str, Any] = {"extractor": "builtin", "title": "", "warnings": []}


def command(behaviour: str, mark: str = "") -> list[str]:
    """Return the command line of a child. mark: a file that it makes when it has begun a job that it will not end."""
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.fetch.extract.children import main; main()"
    return [sys.executable, "-c", program, behaviour, mark]


def main() -> None:
    """Behave as told; a job for the builtin extractor is always done, so that a fallback can be seen."""
    behave, mark = BEHAVIOURS[sys.argv[1]], sys.argv[2]
    if sys.argv[1] in UNASKED:
        behave(mark)
    while start := sys.stdin.buffer.read(LENGTHS):
        header, first, second = lengths(start)
        job = sys.stdin.buffer.read(header)
        sys.stdin.buffer.read(first + second)
        if b'"builtin": true' in job:
            say(BEGUN + b"".join(pack(Frame(GOOD, str(os.getpid()).encode()))))
        else:
            behave(mark)


def say(data: bytes) -> None:
    """Write to the parent."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def answer(header: Any, first: bytes = b"", second: bytes = b"") -> Callable[[str], None]:
    """Return the behaviour of a child that gives an answer."""
    return lambda mark: say(BEGUN + b"".join(pack(Frame(header, first, second))))


def hang(mark: str) -> None:
    """Begin a job and never end it."""
    say(BEGUN)
    Path(mark).touch()
    threading.Event().wait()


def never_begin(mark: str) -> None:
    """Take a job and never begin."""
    threading.Event().wait()


def die(mark: str) -> None:
    """End in the middle of a job."""
    say(BEGUN)
    os._exit(3)


def overrun(mark: str) -> None:
    """End as one that has used up its processor time."""
    say(BEGUN)
    os.kill(os.getpid(), signal.SIGXCPU)


def flood(mark: str) -> None:
    """Write without an end."""
    while True:
        say(b"rubbish" * 10_000)


def pid(mark: str) -> None:
    """Answer with its own process id."""
    answer(GOOD, str(os.getpid()).encode())(mark)


BEHAVIOURS: dict[str, Callable[[str], None]] = {
    "hang": hang,
    "never begin": never_begin,
    "die": die,
    "overrun": overrun,
    "flood": flood,
    "pid": pid,
    "exit": lambda mark: sys.exit(),
    "exit at once": lambda mark: sys.exit(),
    "flood at once": flood,
    "lines": lambda mark: say(b"Traceback (most recent call last):\n"),
    "long header": lambda mark: say(BEGUN + b"\xff" * LENGTHS),
    "no JSON": lambda mark: say(BEGUN + b"\0\0\0\3\0\0\0\0\0\0\0\0{{{"),
    "deep JSON": lambda mark: say(BEGUN + b"\0\0\xf0\0\0\0\0\0\0\0\0\0" + b"[" * 0xF000),
    "no object": answer([1]),
    "no fields": answer({}),
    "wrong extractor": answer({**GOOD, "extractor": "other"}),
    "wrong warning": answer({**GOOD, "warnings": ["page says hello"]}),
    "wrong type": answer({**GOOD, "title": 5}),
    "long title": answer({**GOOD, "title": "x" * 1001}),
    "surrogate": answer({**GOOD, "title": "\ud800"}),
    "wrong date": answer({**GOOD, "published_date": "2024-13-01"}),
    "wrong language": answer({**GOOD, "lang": "e n"}),
    "wrong text": answer(GOOD, b"\xff"),
    "long text": answer(GOOD, b"x" * ((10 << 20) + 1)),
    "two answers": lambda mark: say((BEGUN + b"".join(pack(Frame(GOOD, b"one")))) * 2),
}
UNASKED = ("exit at once", "flood at once")
RUBBISH = [
    *("die", "flood", "lines", "long header", "no JSON", "deep JSON", "no object", "no fields", "wrong extractor"),
    *("wrong warning", "wrong type", "long title", "surrogate", "wrong date", "wrong language", "wrong text"),
    *("long text", "two answers"),
]
