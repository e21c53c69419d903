"""Start the service: `python -m sift.server [gunicorn's options]`, which is gunicorn with Sift's settings.

gunicorn reads WEB_CONCURRENCY before any settings of ours, and knows nothing but numbers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sift.errors import ConfigError
from sift.log import refuse_start


def workers(text: str, cpus: int) -> str:
    """Return WEB_CONCURRENCY as gunicorn takes it: blank means one worker, `auto` one for each CPU.

    Raises ConfigError.
    """
    text = text.strip().lower()
    if text == "auto":
        return str(cpus)
    if text and not (text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= 999):
        raise ConfigError("WEB_CONCURRENCY must be a whole number of workers, at least 1, or auto")
    return text or "1"


def command(python: str, arguments: Sequence[str]) -> list[str]:
    """Return the command line. gunicorn's own script, where there is one, can also replace itself on SIGUSR2."""
    script = Path(python).with_name("gunicorn")
    program = [str(script)] if script.exists() else ["-m", "gunicorn"]
    return [python, *program, "-c", "python:sift.gunicorn_conf", *arguments, "wsgi:app"]


def main(arguments: Sequence[str], environ: Mapping[str, str]) -> None:
    """Become gunicorn; end with 1 and one line when the number of workers is none."""
    try:
        count = workers(environ.get("WEB_CONCURRENCY", ""), len(os.sched_getaffinity(0)))
    except ConfigError as error:
        refuse_start(str(error))
        sys.exit(1)
    os.execve(sys.executable, command(sys.executable, arguments), {**environ, "WEB_CONCURRENCY": count})


if __name__ == "__main__":
    main(sys.argv[1:], os.environ)
