"""`sift doctor`: what is wrong with a set-up, and the cure (contract: Doctor)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sift.cli.layout import wrapped
from sift.cli.service import DEFAULT_URL, refusal
from sift.cli.status import ExitStatus
from sift.cli.terminal import Screen, document, explained, printable, say, screen
from sift.findings import Finding, caution, fail

if TYPE_CHECKING:
    from sift.client import SiftClient

SERVICE_SECONDS = 5.0
QUERY = "python documentation"  # of --search: nobody's question, and one that all sources have hits for
MAX_ENV_FILE = 1 << 20  # bytes
AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_LEVEL, _CHECK = 4, 9  # columns
_MIN_WIDTH = 20


@click.command(short_help="Find what is wrong with the set-up.")
@click.option("--env-file", type=click.Path(path_type=Path), metavar="PATH", help="Settings, as systemd reads them.")
@click.option("--search", "with_search", is_flag=True, help="Also make one real search, which may cost a credit.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else.")
def doctor(*, env_file: Path | None, with_search: bool, as_json: bool) -> None:
    """Check settings, files, service and vendors, and name the cure of whatever is wrong.

    Run it where the service runs and with its environment, as its user or as root. It costs no credit, sends no query
    anywhere and prints no key. Exit code 1 when anything failed.
    """
    # Imported late: it loads most of Sift.
    from sift.doctor.environment import parse
    from sift.doctor.examine import Surroundings, examine

    environ, found = dict(os.environ), list[Finding]()
    if env_file is not None:
        read, found = parse(_text(env_file))
        environ |= read
        # OpenSSL reads these from the process itself.
        os.environ.update({name: read[name] for name in AUTHORITIES if name in read})
    around = Surroundings(
        partial(_ask_service, environ),
        partial(_search, environ) if with_search else None,
        datetime.now(UTC),
        os.uname().nodename,
    )
    with explained("asking the service and the vendors ..."):
        found += examine(environ, around)
    _print(found, screen(os.environ), as_json=as_json)
    if any(each.level == "fail" for each in found):
        raise click.exceptions.Exit(ExitStatus.FAILED)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(MAX_ENV_FILE).decode("utf-8-sig")
    except OSError as error:
        reason = f"the file cannot be read: {error.strerror}."
    except UnicodeError:
        reason = "the file is not UTF-8."
    raise click.BadParameter(reason, param_hint="'--env-file'")


def _client(environ: Mapping[str, str], default: str, timeout: float) -> SiftClient:
    from sift.client import SiftClient

    url = environ.get("SIFT_URL", "").strip() or default
    return SiftClient(url, environ.get("SIFT_TOKEN", "").strip(), environ, timeout=timeout)


def _ask_service(environ: Mapping[str, str], bound: str | None) -> list[Finding]:
    """Ask the service what it is. bound: where it listens unless SIFT_URL says it, "" at no port."""
    from sift.client import ForeignResponseError, UnreachableError
    from sift.doctor.service import CHECK, check_status, not_there, refused
    from sift.errors import ConfigError

    if bound == "":
        return [
            caution(CHECK, "it listens at a socket file, which is not asked", "set SIFT_URL to the proxy before it")
        ]
    try:
        client = _client(environ, bound or DEFAULT_URL, SERVICE_SECONDS)
        client.health()
        answer = client.status()
    except ConfigError as error:
        return [fail(CHECK, str(error), "correct it")]
    except UnreachableError as error:
        return [not_there(str(error), was_named=bound is None)]
    except ForeignResponseError as error:
        return [fail(CHECK, str(error), "set SIFT_URL to the address of a Sift service")]
    if answer.status == 200:
        return check_status(answer.payload)
    has_token = bool(environ.get("SIFT_TOKEN", "").strip())
    return [refused(answer.status, answer.payload["hint"], has_token=has_token)]


def _search(environ: Mapping[str, str], bound: str | None) -> list[Finding]:
    """Make one search, and return every source's share. bound: as in `_ask_service`."""
    from sift.client import TIMEOUT
    from sift.doctor.service import SEARCH, check_search
    from sift.errors import ConfigError, SiftError

    try:
        answer = _client(environ, bound or DEFAULT_URL, TIMEOUT).search({"query": QUERY, "explain": True})
    except ConfigError as error:
        return [fail(SEARCH, str(error), "correct it")]
    except SiftError as error:
        return [fail(SEARCH, str(error), "see the line of the service")]
    if answer.status == 200:
        return check_search(answer.payload)
    failed = ", ".join(map(str, answer.payload.get("warnings") or []))
    what = f"no source answered: {failed}" if answer.status == 503 else refusal(answer)
    return [fail(SEARCH, what, "see the lines of service and sources")]


def _print(found: Sequence[Finding], display: Screen | None, *, as_json: bool) -> None:
    shown = [Finding(each.level, *map(printable, each[1:])) for each in found]
    if as_json:
        is_well = all(each.level != "fail" for each in shown)
        say(document({"ok": is_well, "checks": [each._asdict() for each in shown]}, sys.stdout.encoding))
        return
    for line in for_pipe(shown) if display is None else for_terminal(shown, display):
        say(line)


def for_pipe(found: Sequence[Finding]) -> list[str]:
    """Return a line for each finding, with the cure behind a semicolon."""
    return [_head(each.level, each.check) + "; ".join(filter(None, (each.what, each.cure))) for each in found]


def for_terminal(found: Sequence[Finding], display: Screen) -> list[str]:
    """Return findings wrapped to the screen, each cure on lines of its own, and a count below them."""
    paint = {"ok": display.green, "warn": display.yellow, "fail": display.red}
    margin = len(_head("", ""))
    arrow = "→ " if display.ellipsis == "…" else "-> "
    lines: list[str] = []
    for each in found:
        first, *rest = wrapped(each.what, max(display.width - margin, _MIN_WIDTH))
        head = _head(each.level, each.check)
        lines.append(paint[each.level](head[:_LEVEL]) + head[_LEVEL:] + first)
        lines += [" " * margin + line for line in rest]
        width = max(display.width - margin - len(arrow), _MIN_WIDTH)
        for number, line in enumerate(wrapped(each.cure, width)):
            lines.append(" " * margin + (" " * len(arrow) if number else arrow) + display.bold(line))
    counts = [(level, sum(each.level == level for each in found)) for level in ("ok", "warn", "fail")]
    summary = ", ".join(paint[level](f"{count} {level}") for level, count in counts if count)
    return [*lines, "", summary]


def _head(level: str, check: str) -> str:
    return f"{level:<{_LEVEL}}  {check:<{_CHECK}}  "
