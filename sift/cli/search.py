"""`sift search`: flags become the JSON body of `POST /v1/search`, its response text (contract: Command line)."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from sift.cli.explained import account
from sift.cli.flags import FLAGS, field_flags, takes
from sift.cli.layout import for_pipe, for_terminal
from sift.cli.planned import plan_lines
from sift.cli.reading import read_json, read_text, unfit
from sift.cli.service import ask, refusal, warn
from sift.cli.status import ExitStatus
from sift.cli.terminal import complain, document, say, screen, tell
from sift.search.fields import FIELDS, MAX_QUERIES, MAX_QUERY

if TYPE_CHECKING:
    from sift.client import Response

_MAX_FILE = 1024 * 1024  # bytes; reading a device would never end
_STATUSES = {
    400: ExitStatus.USAGE,
    401: ExitStatus.AUTH,
    403: ExitStatus.AUTH,
    413: ExitStatus.USAGE,
    503: ExitStatus.UNAVAILABLE,
}


@click.command(short_help="Search the web.")
@click.argument("words", metavar="[QUERY]...", nargs=-1)
@field_flags(FIELDS)
@click.option(
    "--queries-file",
    metavar="PATH",
    type=click.Path(),  # for completion; it is opened below
    help=f"A JSON array of 1 to {MAX_QUERIES} queries, UTF-8, instead of QUERY; - reads standard input.",
)
@click.option("--plan", is_flag=True, help="Say what the search would do and cost, and do not search.")
@click.option("--full", is_flag=True, help="Show whole snippets on a terminal, not just their first lines.")
@click.option("--json", "as_json", is_flag=True, help="Print the service's JSON answer, and nothing else.")
def search(
    words: tuple[str, ...], queries_file: str | None, *, plan: bool, full: bool, as_json: bool, **fields: Any
) -> None:
    """Search with QUERY, or with several queries whose hits are merged into one list.

    The service is at $SIFT_URL (default: http://127.0.0.1:8787), the token in $SIFT_TOKEN. What a source could not do
    is a warning on stderr.

    Exit codes: 0 answered, with or without hits; 1 internal error, or an answer that is not Sift's; 2 wrong usage;
    3 no valid token; 4 the service cannot be reached; 5 no source answered.
    """
    body: dict[str, Any] = _queries(words, queries_file)
    # Only what was set: the defaults are the service's. A repeatable flag that was not given is an empty tuple.
    body |= {name: value for name, value in fields.items() if value is not None and value != ()}
    response = _ask_plan(body) if plan else _ask(body)
    if as_json:
        say(document(response.payload, sys.stdout.encoding))
    if response.status != 200:
        raise click.exceptions.Exit(_refused(response, quiet=as_json))
    if as_json:
        return
    if plan:
        for line in plan_lines(response.payload):
            say(line)
        warn(response.payload["warnings"])
    else:
        _print(response.payload, full=full)


def _queries(words: tuple[str, ...], path: str | None) -> dict[str, Any]:
    if words and path is not None:
        raise click.UsageError("QUERY and --queries-file exclude each other.")
    if path is not None:
        return {"queries": _read_queries(path)}
    if not words:
        raise click.UsageError("Give a QUERY, or a --queries-file.")
    return {"query": " ".join(words)}


def _read_queries(path: str) -> list[str]:
    queries = read_json(read_text(path, "--queries-file", _MAX_FILE), "--queries-file")
    if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
        raise unfit("--queries-file", "the file is not a JSON array of strings.")
    if not 1 <= len(queries) <= MAX_QUERIES:
        raise unfit("--queries-file", f"the file holds {len(queries)} queries, not 1 to {MAX_QUERIES}.")
    return queries


def _ask(body: dict[str, Any]) -> Response:
    count = len(body.get("queries", "1"))
    queries = f"{count} queries, one after another" if count > 1 else "one query"
    return ask(lambda client: client.search(body), f"waiting for the slowest source ({queries}) ...")


def _ask_plan(body: dict[str, Any]) -> Response:
    return ask(lambda client: client.plan(body), "waiting for the service ...")


def _refused(response: Response, *, quiet: bool) -> ExitStatus:
    """Say in one line why the service refused, after its warnings unless quiet; return the exit code."""
    warnings = response.payload.get("warnings")
    if not quiet and isinstance(warnings, list):
        warn([warning for warning in warnings if isinstance(warning, str)])
    complain(_reason(response))
    return _STATUSES.get(response.status, ExitStatus.FAILED)


def _reason(response: Response) -> str:
    error, hint = response.payload["error"], response.payload["hint"]
    if response.status == 400 and hint in FLAGS:
        return f"{FLAGS[hint]}: {takes(hint)}"
    if error == "invalid query":
        return f"QUERY or --queries-file: a query has 1 to {MAX_QUERY} characters"
    return refusal(response)


def _print(payload: dict[str, Any], *, full: bool) -> None:
    hits, display = payload["results"], screen(os.environ)
    if display is None:
        # First, so that a reader of only the first lines of stdout still learns which filters did not apply.
        warn(payload["warnings"])
    accounts = account(payload["explain"]) if display and "explain" in payload else []
    below = len(accounts) + len(payload["warnings"]) + 1  # and the next prompt
    lines = for_terminal(hits, display, full=full, below=below) if display else for_pipe(hits)
    for line in (*lines, *accounts):
        say(line)
    if not hits:
        tell("no hits")
    if display:  # last, where a long list does not push them off the screen
        sys.stdout.flush()
        warn(payload["warnings"])
