"""The log: one JSON object per line; of a request only the listed fields (contract: Log)."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sift.auth.caller import Caller
from sift.output import Lines, lines_to
from sift.search.model import SearchRequest

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}
# Their messages contain vendors' URLs, and those of SearXNG and Brave contain the query: connection lines at DEBUG,
# unreadable headers and full pools at WARNING.
_NOISY = {
    "urllib3": logging.WARNING,
    "requests": logging.WARNING,
    "urllib3.connection": logging.CRITICAL,
    "urllib3.connectionpool": logging.CRITICAL,
    "urllib3.util.retry": logging.CRITICAL,
    "psycopg": logging.CRITICAL,  # names the server
}


def render(level: str, event: str, fields: Mapping[str, Any]) -> bytes:
    """Return a line of the log."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return json.dumps({"ts": now, "level": level, "event": event, **fields}).encode() + b"\n"


@cache
def _stderr() -> Lines:
    """Return the lines on stderr. All logs of a process share them, and so the count of those that were dropped."""
    return lines_to(2, lambda count: render("warning", "lines_dropped", {"n": count}))


def write_stderr(line: bytes) -> bool:
    """Write a line on stderr, or drop and count it when nobody reads there; return whether it was written."""
    return _stderr()(line)


def watch_dropped(dropped: Callable[[], None]) -> None:
    """Have `dropped` called for each line that this process drops from now on."""
    _stderr().dropped = dropped


def refuse_start(message: str) -> None:
    """Write the one line of a start that is refused: what is wrong, in words for the operator."""
    write_stderr(render("critical", "start_refused", {"message": message}))


class LineHandler(logging.Handler):
    """A handler that takes no lock: a line is written in one call, and nobody must wait for another's."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Emit a record that passes the filters."""
        passes = bool(self.filter(record))
        if passes:
            self.emit(record)
        return passes


class JsonLog(LineHandler):
    """A handler that writes JSON lines, never the text or traceback of an exception: both may hold a query."""

    def __init__(self, level: str = "info", write: Callable[[bytes], object] = write_stderr) -> None:
        super().__init__(_LEVELS[level])
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        """Write a logging record: its constant message is the event, its `fields` are the fields."""
        self.write(record.levelname.lower(), record.getMessage(), getattr(record, "fields", {}))

    def write(self, level: str, event: str, fields: Mapping[str, Any]) -> bool:
        """Write one line unless its level is below the threshold; return False when it could not be written."""
        return _LEVELS[level] < self.level or self._write(render(level, event, fields)) is not False

    def record_search(
        self, caller: Caller, request: SearchRequest, *, sources: tuple[str, ...], n: int, cache: str, rerank_ms: int
    ) -> None:
        """Write the single record of a search; that of a fleet caller names filter kinds too, never values."""
        fields: dict[str, Any] = {
            "caller": caller.name,
            "q_len": request.q_len,
            "sources": ",".join(sources),
            "n": n,
            "cache": cache,
        }
        if caller.cls == "fleet":
            fields["n_queries"] = len(request.queries)
            fields["filters"] = ",".join(request.filter.kinds())
            fields["rerank_ms"] = rerank_ms
        self.write("info", "search", fields)

    def record_fetch(self, caller: Caller, *, state: str, ms: int, size: int, hops: int, cache: str) -> None:
        """Write the single record of a fetch, of either class of caller."""
        fields = {"caller": caller.name, "state": state, "ms": ms, "bytes": size, "hops": hops, "cache": cache}
        self.write("info", "fetch", fields)


def install(log: JsonLog) -> None:
    """Send Sift's own records to `log`, and silence the HTTP client's loggers."""
    logger = logging.getLogger("sift")
    logger.handlers[:] = [log]
    logger.setLevel(log.level)
    logger.propagate = False
    for name, level in _NOISY.items():
        logging.getLogger(name).setLevel(level)
