"""gunicorn's settings for `make run`: those of the service, plus a few lines on stdout that say what it serves."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from sift import gunicorn_conf
from sift.config import Config
from sift.gunicorn_conf import *  # noqa: F403 (gunicorn takes every name of a module of settings)
from sift.gunicorn_conf import settings

DEMO = "demo sources (Python's documentation; set SIFT_SEARXNG_URL to search the web)"


def on_starting(server: Any) -> None:  # type: ignore[no-redef]
    """Print the welcome once, in the master, after every setting has been checked. The log goes to stderr."""
    gunicorn_conf.on_starting(server)
    host, port = server.cfg.address[0]
    with suppress(OSError):  # nobody reads it
        print(welcome(settings, host, port, Path(sys.executable).with_name("sift")), flush=True)


def welcome(config: Config, host: str, port: int, command: Path) -> str:
    """Return what is served where, and two commands to try. command: the path of `sift`."""
    auth = "authentication by key" if config.auth else "authentication off"
    header = ' -H "Authorization: Bearer $SIFT_TOKEN"' if config.auth else ""
    sources = DEMO if config.demo else "sources: " + " ".join(source.name for source in config.sources)
    page = f"In a browser: http://{host}:{port}/\n" if config.page else ""
    shown = command.relative_to(Path.cwd()) if command.is_relative_to(Path.cwd()) else command
    return (
        f"Starting Sift on http://{host}:{port}, this machine only; {auth}; {sources}.\n"
        f'Try: curl -s localhost:{port}/v1/search{header} -d \'{{"query": "context manager"}}\'\n'
        f"{page}"
        f'Or: SIFT_URL=http://{host}:{port} {shown} search "context manager"'
    )
