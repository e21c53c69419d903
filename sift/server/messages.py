"""gunicorn's own messages, and whatever else would go to stderr, as lines of Sift's log (contract: Log)."""

from __future__ import annotations

import io
import logging
import os
import sys
import threading
from collections.abc import Mapping
from datetime import timedelta
from types import TracebackType
from typing import Any, TextIO, cast

from gunicorn.glogging import Logger  # type: ignore[import-untyped]

from sift.log import JsonLog, LineHandler, render

METHODS = frozenset("GET HEAD POST PUT PATCH DELETE OPTIONS TRACE CONNECT".split())


class GunicornLog(LineHandler):
    """A handler that writes gunicorn's messages on stderr, as JSON lines."""

    def __init__(self, log: JsonLog) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        self._log.write(*_line(record))


class _JsonFormatter(logging.Formatter):
    """The same for a file that gunicorn is told to write to."""

    def format(self, record: logging.LogRecord) -> str:
        return render(*_line(record)).decode().rstrip("\n")


class QuietLogger(Logger):  # type: ignore[misc]
    """gunicorn's logger in JSON and without anything a client sent: the stock one prints requests and tracebacks.

    It relies on `setup`, which gives handlers to `error_log` and `access_log`; on the call of `access`; and on how the
    message about a rejected request begins. tests/server/test_messages.py compares these with the installed release.
    """

    def setup(self, cfg: Any) -> None:
        """Let gunicorn choose where its messages go, and change their form."""
        super().setup(cfg)
        for logger in (self.error_log, self.access_log):
            for handler in list(logger.handlers):
                if isinstance(handler, GunicornLog) or type(handler) is logging.StreamHandler:
                    logger.removeHandler(handler)
                handler.setFormatter(_JsonFormatter())
                if type(handler) is logging.StreamHandler:
                    logger.addHandler(GunicornLog(JsonLog("debug")))

    def access(self, resp: Any, req: Any, environ: Mapping[str, Any], request_time: timedelta) -> None:
        """Log method, status and milliseconds of a request. An unknown method may be any word of the client's."""
        if self.access_log.handlers:
            method = environ.get("REQUEST_METHOD")
            fields = {
                "method": method if method in METHODS else "other",
                "status": int(str(resp.status).split()[0]),
                "ms": request_time // timedelta(milliseconds=1),
            }
            self.access_log.info("access", extra={"fields": fields})

    def exception(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Log the type of the error only."""
        kind = sys.exc_info()[0]
        self.error_log.error("error in a worker: %s", kind.__name__ if kind else "unknown")

    def warning(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Log a warning, but without the text of a rejected request, which gunicorn formats into the message."""
        if str(msg).startswith("Invalid request from"):
            self.error_log.warning("a request was rejected as broken HTTP")
        else:
            super().warning(msg, *args, **kwargs)

    def debug(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Drop the message: debug lines contain request lines and headers."""


def _line(record: logging.LogRecord) -> tuple[str, str, Mapping[str, Any]]:
    """Return level, event and fields of a record: of a message the first line, as a traceback may follow."""
    level = record.levelname.lower()
    fields: Mapping[str, Any] | None = getattr(record, "fields", None)
    if fields is not None:
        return level, record.getMessage(), fields
    message = {"message": record.getMessage().partition("\n")[0], "pid": record.process}
    kind = record.exc_info[0] if record.exc_info else None
    return level, "gunicorn", message | ({"type": kind.__name__} if kind else {})


class _Stderr(io.TextIOBase):
    """A stand-in for `sys.stderr` that makes a JSON line of each line printed."""

    def __init__(self, log: JsonLog) -> None:
        self._log = log
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in filter(str.strip, lines):
            self._log.write("error", "stderr", {"message": line.strip()})
        return len(text)

    def fileno(self) -> int:
        return 2


def keep_stderr_taken() -> bool:
    """Return whether stderr is open. Where it is not, the next file opened would get its number, and the log."""
    try:
        os.fstat(2)
    except OSError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        if nothing != 2:
            os.dup2(nothing, 2)
            os.close(nothing)
        return False
    return True


def take_over_stderr(log: JsonLog) -> None:
    """Write whatever this process prints on stderr to `log`, and of uncaught exceptions the type and place."""

    def report(kind: type[BaseException] | None, at: TracebackType | None) -> None:
        while at and at.tb_next:
            at = at.tb_next
        place = f"{at.tb_frame.f_globals.get('__name__')}:{at.tb_lineno}" if at else ""
        log.write("error", "internal_error", {"type": kind.__name__ if kind else "", "at": place})

    sys.stderr = cast(TextIO, _Stderr(log))
    sys.excepthook = lambda kind, _, at: report(kind, at)
    threading.excepthook = lambda args: report(args.exc_type, args.exc_traceback)
    sys.unraisablehook = lambda args: report(args.exc_type, args.exc_traceback)
