"""gunicorn's messages in Sift's log; and what they rely on in gunicorn, compared with the installed release."""

from __future__ import annotations

import inspect
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.glogging import Logger
from gunicorn.http.errors import InvalidRequestLine
from gunicorn.workers import base

from sift.server.messages import GunicornLog, QuietLogger
from tests.service import ROOT

SECRET = "secretword"


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """Leave gunicorn's loggers as they were found."""
    names = ("gunicorn.error", "gunicorn.access")
    before = {name: list(logging.getLogger(name).handlers) for name in names}
    yield
    for name in names:
        logging.getLogger(name).handlers[:] = before[name]


def made(kind: type[Any], **settings: Any) -> Any:
    """Return a logger of gunicorn's with these settings."""
    cfg = Config()
    for name, value in settings.items():
        cfg.set(name, value)
    return kind(cfg)


def kinds(logger: logging.Logger) -> list[type[logging.Handler]]:
    """Return the types of a logger's handlers; pytest adds its own."""
    return [type(handler) for handler in logger.handlers if not type(handler).__module__.startswith("_pytest")]


def test_gunicorn_writes_to_handlers_of_two_loggers() -> None:
    """A release that writes elsewhere would write plain text again."""
    stock = made(Logger, accesslog="-")
    assert kinds(stock.error_log) == [logging.StreamHandler]
    assert kinds(stock.access_log) == [logging.StreamHandler]


def test_both_are_replaced_also_when_gunicorn_reloads_its_settings() -> None:
    """contract: Log: there is one handler of each, in JSON, and none for an access log that is off."""
    logger = made(QuietLogger, accesslog="-")
    for _ in range(2):
        assert kinds(logger.error_log) == [GunicornLog]
        assert kinds(logger.access_log) == [GunicornLog]
        logger.setup(logger.cfg)
    assert kinds(made(QuietLogger).access_log) == []


def written(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().err.splitlines()]


@pytest.mark.parametrize("kind", [Logger, QuietLogger])
def test_refused_request_its_words_are_kept_out(kind: type[Any], capfd: pytest.CaptureFixture[str]) -> None:
    """contract: Log: the message that gunicorn formats is recognised by how it begins."""
    worker = SimpleNamespace(log=made(kind), cfg=Config())
    client = SimpleNamespace(sendall=lambda data: None, setblocking=lambda value: None, fileno=lambda: -1)
    base.Worker.handle_error(worker, None, client, ("127.0.0.1", 1), InvalidRequestLine(SECRET))
    err = capfd.readouterr().err
    assert (SECRET in err) is (kind is Logger)
    if kind is QuietLogger:
        assert json.loads(err)["message"] == "a request was rejected as broken HTTP"


def test_exception_only_its_type_is_logged(capfd: pytest.CaptureFixture[str]) -> None:
    """contract: Log: neither its text nor a traceback, in whichever way gunicorn passes it on."""
    logger = made(QuietLogger)
    try:
        raise ValueError(SECRET)
    except ValueError:
        logger.exception("Error handling request %s", f"/{SECRET}")
        logger.error("Unhandled exception in main loop", exc_info=True)
        logger.warning("Exception during worker exit:\n%s", f"Traceback\n{SECRET}")
    logger.debug("request line: %s", SECRET)
    one, two, three = written(capfd)
    assert (one["level"], one["message"]) == ("error", "error in a worker: ValueError")
    assert (two["message"], two["type"]) == ("Unhandled exception in main loop", "ValueError")
    assert (three["level"], three["message"]) == ("warning", "Exception during worker exit:")
    assert SECRET not in f"{one}{two}{three}"


def test_access_has_the_parameters_of_the_installed_gunicorn(capfd: pytest.CaptureFixture[str]) -> None:
    """contract: Log: a release that calls it otherwise would break requests."""
    assert inspect.signature(QuietLogger.access).parameters.keys() == inspect.signature(Logger.access).parameters.keys()
    logger = made(QuietLogger, accesslog="-")
    logger.access(SimpleNamespace(status="404 Not Found"), None, {"REQUEST_METHOD": SECRET}, timedelta(seconds=1.5))
    (line,) = written(capfd)
    assert {name: line[name] for name in ("event", "method", "status", "ms")} == {
        "event": "access",
        "method": "other",
        "status": 404,
        "ms": 1500,
    }


HOOKS = """
import gc, sys, threading
from sift.log import JsonLog
from sift.server.messages import take_over_stderr
take_over_stderr(JsonLog())
def fail(): raise ValueError("secretword")
class Late:
    def __del__(self): fail()
print("one\\n\\ntwo", file=sys.stderr)
thread = threading.Thread(target=fail); thread.start(); thread.join()
Late()
fail()
"""


def test_whatever_else_is_printed_is_json_and_holds_no_exceptions_text() -> None:
    """contract: Log: prints line by line, of uncaught exceptions type and place."""
    done = subprocess.run(
        [sys.executable, "-c", HOOKS], cwd=ROOT, capture_output=True, timeout=30, check=False, text=True
    )
    assert done.returncode == 1
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [line.get("message") for line in lines[:2]] == ["one", "two"]
    assert [(line["event"], line["type"], line["at"]) for line in lines[2:]] == [
        ("internal_error", "ValueError", "__main__:6")
    ] * 3
    assert SECRET not in done.stderr
