"""Bundled demo sources: the vendors' wire shapes over text that is on every machine with Python (contract §10)."""

from __future__ import annotations

import os
import threading

from sift.demo.documents import passages
from sift.demo.index import Index
from sift.demo.server import Server, serve

__all__ = ["start"]

_lock = threading.Lock()
_server: Server | None = None
_inherited: list[Server] = []


def start() -> str:
    """Return the base URL of this process's demo server, starting it on first use.

    SearXNG answers under `{base}/search`, Brave under `{base}/res/v1/llm/context`, Tavily under `{base}/tavily/search`.
    """
    global _server
    with _lock:
        if _server is None:
            _server = serve(Index(passages()))
        return _server.url


def _forget() -> None:
    """Make a forked child start its own server: threads do not survive a fork, and the lock may be held for ever.

    A hook rather than a comparison of process ids, since ids are reused and do not free the lock. The parent's server
    is kept, not collected: its SQLite mutex may be held by a thread that this process does not have.
    """
    global _lock, _server
    _lock = threading.Lock()
    if _server is not None:
        _server.socket.close()  # else the parent's port would go on accepting after the parent is gone
        _inherited.append(_server)
        _server = None


os.register_at_fork(after_in_child=_forget)
