"""Bundled demo sources: the vendors' wire formats over text that is on every machine with Python.

A vendor's stand-in is the module of the same name as the vendor's in `sift.sources`. Everything here is imported on
first use: a service without the demo has no memory to spare for it.
"""

from __future__ import annotations

import os
import threading
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sift.demo.server import Server
    from sift.demo.standin import StandIn

__all__ = ["has", "page", "start"]

_lock = threading.Lock()
_server: Server | None = None
_inherited: list[Server] = []


def has(vendor: str) -> bool:
    """Return whether a vendor, given by the name of its module, has a stand-in."""
    return find_spec(f"{__name__}.{vendor}") is not None


def start(vendor: str) -> str:
    """Return the whole URL of a vendor's stand-in, starting this process's server on first use."""
    global _server
    with _lock:
        if _server is None:
            _server = _serve()
        stand_in: StandIn = import_module(f"{__name__}.{vendor}").STAND_IN
        _server.stand_ins[stand_in.path] = stand_in
        return _server.url + stand_in.path


def page(url: str) -> bytes | None:
    """Return the HTML of a page that the demo's hits lead to, None for any other URL."""
    global _server
    if not url.startswith("https://docs.python.org/3/"):
        return None
    from sift.demo.pages import page_html

    with _lock:
        if _server is None:
            _server = _serve()
        passages = _server.index.page(url)
    return page_html(passages) if passages else None


def _serve() -> Server:
    from sift.demo.documents import passages
    from sift.demo.index import Index
    from sift.demo.server import serve

    return serve(Index(passages()))


def _forget() -> None:
    """Make a forked child start its own server: threads do not survive a fork, and the lock may be held forever.

    A hook rather than a comparison of process ids, since ids are reused and do not free the lock. The parent's server
    is kept, not collected: its SQLite mutex may be held by a thread that does not exist in this process.
    """
    global _lock, _server
    _lock = threading.Lock()
    if _server is not None:
        _server.socket.close()  # otherwise the parent's port would still accept after the parent is gone
        _inherited.append(_server)
        _server = None


os.register_at_fork(after_in_child=_forget)
