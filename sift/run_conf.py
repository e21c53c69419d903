"""gunicorn's settings for `make run`: those of the service, plus two lines on stdout that say what it serves."""

from __future__ import annotations

from typing import Any

from sift.config import Config
from sift.gunicorn_conf import *  # noqa: F403 (gunicorn takes every name of a module of settings)
from sift.gunicorn_conf import settings

DEMO = "demo sources (Python's documentation; set SIFT_SEARXNG_URL to search the web)"


def on_starting(server: Any) -> None:
    """Print the welcome once, in the master, after every setting has been checked. The log goes to stderr."""
    host, port = server.cfg.address[0]
    print(welcome(settings, host, port), flush=True)


def welcome(config: Config, host: str, port: int) -> str:
    """Return what is served where, and a command to try."""
    auth = "authentication by key" if config.auth else "authentication off"
    header = ' -H "Authorization: Bearer $SIFT_TOKEN"' if config.auth else ""
    sources = DEMO if config.demo else "sources: " + " ".join(source.name for source in config.sources)
    return (
        f"Starting Sift on http://{host}:{port}, this machine only; {auth}; {sources}.\n"
        f'Try: curl -s localhost:{port}/v1/search{header} -d \'{{"query": "context manager"}}\''
    )
