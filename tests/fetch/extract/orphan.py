"""A service in small, for tests that kill it: `python -m tests.fetch.extract.orphan WHAT`.

It prints the process ids of its children, and then what it is told, and waits.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from sift.fetch.extract.extractor import Extractor
from sift.fetch.extract.model import Document
from sift.fetch.extract.process import Limits


def main(what: str) -> None:
    """Read a page.

    what: `busy`: be in the middle of another; `fork`: also be a forked process; `use fork`: one that reads a page, too.
    """
    extractor = Extractor(2, limits=Limits(wall=2.0))
    read(extractor, b"x", "text/plain")
    if what == "busy":
        threading.Thread(target=read, args=(extractor, b"<b>a</b>" * 60_000, "text/html"), daemon=True).start()
        threading.Event().wait(1)
    print(*extractor.pids, flush=True)
    if "fork" in what and not os.fork():
        if what == "use fork":
            read(extractor, b"x", "text/plain")
        print(os.getpid(), *extractor.pids, flush=True)
    threading.Event().wait()


def read(extractor: Extractor, body: bytes, kind: str) -> str:
    """Return the text of a document."""
    return extractor.extract(Document(body, kind, "", ""), "text", deadline=time.monotonic() + 60).content


if __name__ == "__main__":
    main(sys.argv[1])
