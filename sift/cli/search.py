"""`sift search`: flags become the JSON body of `POST /v1/search`, its response text (contract: Command line)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sift.cli.flags import FLAGS, field_flags, takes
from sift.cli.status import ExitStatus
from sift.cli.terminal import complain, document, printable, say, tell
from sift.search.fields import MAX_QUERIES, MAX_QUERY

if TYPE_CHECKING:
    from sift.client import Response

DEFAULT_URL = "http://127.0.0.1:8787"
_MAX_FILE = 1024 * 1024  # bytes; reading a device would never end
_STATUSES = {
    400: ExitStatus.USAGE,
    401: ExitStatus.AUTH,
    403: ExitStatus.AUTH,
    413: ExitStatus.USAGE,
    503: ExitStatus.UNAVAILABLE,
}


@click.command()
@click.argument("query", required=False)
@field_flags
@click.option(
    "--queries-file", metavar="PATH", help=f"A JSON array of 1 to {MAX_QUERIES} queries, UTF-8, instead of QUERY."
)
@click.option("--json", "as_json", is_flag=True, help="Print the service's JSON envelope, and nothing else.")
def search(query: str | None, queries_file: str | None, *, as_json: bool, **fields: Any) -> None:
    """Search with QUERY, or with several queries whose hits are merged into one list.

    The service is at $SIFT_URL (default: http://127.0.0.1:8787), the token in $SIFT_TOKEN. What a source could not do
    is a warning on stderr.

    Exit codes: 0 answered, with or without hits; 1 internal error, or an answer that is not Sift's; 2 wrong usage;
    3 no valid token; 4 the service cannot be reached; 5 no source answered.
    """
    body: dict[str, Any] = _queries(query, queries_file)
    # Only what was set: the defaults are the service's. A repeatable flag that was not given is an empty tuple.
    body |= {name: value for name, value in fields.items() if value is not None and value != ()}
    response = _ask(body)
    if as_json:
        say(document(response.payload, sys.stdout.encoding))
    if response.status != 200:
        raise click.exceptions.Exit(_refused(response, quiet=as_json))
    if not as_json:
        # First, so that a reader of only the first lines of stdout still learns which filters did not apply.
        _warn(response.payload["warnings"])
        _print(response.payload["results"])


def _queries(query: str | None, path: str | None) -> dict[str, Any]:
    if query is not None and path is not None:
        raise click.UsageError("QUERY and --queries-file exclude each other.")
    if path is not None:
        return {"queries": _read_queries(path)}
    if query is None:
        raise click.UsageError("Give a QUERY, or a --queries-file.")
    return {"query": query}


def _read_queries(path: str) -> list[str]:
    """Read a queries file: UTF-8 whatever the locale, with or without a byte order mark."""

    def refuse(reason: str) -> click.BadParameter:
        return click.BadParameter(reason, param_hint="'--queries-file'")

    try:
        with Path(path).open("rb") as file:
            content = file.read(_MAX_FILE + 1)
        if len(content) > _MAX_FILE:
            raise refuse("the file is too large.")
        queries = json.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise refuse(f"the file cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise refuse("the file is not UTF-8.") from None
    except (ValueError, RecursionError):
        raise refuse("the file is not JSON.") from None
    if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
        raise refuse("the file is not a JSON array of strings.")
    if not 1 <= len(queries) <= MAX_QUERIES:
        raise refuse(f"the file holds {len(queries)} queries, not 1 to {MAX_QUERIES}.")
    return queries


def _ask(body: dict[str, Any]) -> Response:
    # Imported late: requests takes longer to load than everything else, and --help and usage errors do not need it.
    from sift.client import ForeignResponseError, SiftClient, UnreachableError

    url = os.environ.get("SIFT_URL", "").strip() or DEFAULT_URL
    client = SiftClient(url, os.environ.get("SIFT_TOKEN", "").strip())
    try:
        return client.search(body)
    except UnreachableError as error:
        complain(f"{error}; SIFT_URL says where it is")
        raise click.exceptions.Exit(ExitStatus.UNREACHABLE) from None
    except ForeignResponseError as error:
        complain(f"{error}; SIFT_URL must be the address of a Sift service")
        raise click.exceptions.Exit(ExitStatus.FAILED) from None


def _refused(response: Response, *, quiet: bool) -> ExitStatus:
    """Say in one line why the service refused, after its warnings unless quiet; return the exit code."""
    warnings = response.payload.get("warnings")
    if not quiet and isinstance(warnings, list):
        _warn([warning for warning in warnings if isinstance(warning, str)])
    complain(_reason(response))
    return _STATUSES.get(response.status, ExitStatus.FAILED)


def _reason(response: Response) -> str:
    error, hint = response.payload["error"], response.payload["hint"]
    if response.status == 400 and hint in FLAGS:
        return f"{FLAGS[hint]}: {takes(hint)}"
    if error == "invalid query":
        return f"QUERY or --queries-file: a query has 1 to {MAX_QUERY} characters"
    if response.status == 401:
        return "unauthorized: SIFT_TOKEN must hold a valid key"
    if response.status == 404:
        return "not found: SIFT_URL must be the service's address alone, without /v1"
    return printable(f"the service answered {response.status}: {error} {hint}")


def _print(hits: list[dict[str, Any]]) -> None:
    if hits:
        say("\n".join(_lines(hits)))
    else:
        tell("no hits")


def _lines(hits: list[dict[str, Any]]) -> Iterator[str]:
    for number, hit in enumerate(hits):
        if number:
            yield ""
        yield _shown(hit, "title") or _shown(hit, "url")
        yield _shown(hit, "url")
        yield (
            _shown(hit, "snippet") or "(no snippet)"
        )  # never empty: a blank line separates hits, and the date is the fourth line
        if date := _shown(hit, "published_date"):
            yield date


def _shown(hit: dict[str, Any], field: str) -> str:
    return printable(str(hit.get(field) or ""))


def _warn(warnings: list[str]) -> None:
    for warning in warnings:
        tell(f"warning: {printable(warning)}")
