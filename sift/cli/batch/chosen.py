"""Which pages `sift batch submit` asks for: from arguments, from a file, from what a search found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

import click

from sift.cli.flags import flag, takes
from sift.cli.reading import read_json, read_text, unfit
from sift.cli.status import ExitStatus
from sift.cli.terminal import complain, printable
from sift.fields import Field
from sift.search.domains import host_filter, normalise_domain
from sift.search.fields import FIELDS
from sift.search.model import Filter
from sift.search.urls import read_url

_SEARCH = "--from-search"
_FILE = "--urls-file"
_MAX_FILE = 1 << 20  # bytes; a hundred of the longest URLs are less than half of it
_MAX_SEARCH = 64 << 20  # bytes: no answer that the command takes is longer
DOMAINS = [field for field in FIELDS if field.name in ("include_domains", "exclude_domains")]
_SEARCH_ENDS = {  # by the error that the service answered the search with
    "search unavailable": ExitStatus.UNAVAILABLE,
    "unauthorized": ExitStatus.AUTH,
    "forbidden": ExitStatus.AUTH,
    "invalid query": ExitStatus.USAGE,
    "invalid search": ExitStatus.USAGE,
}


def gathered(arguments: Sequence[str], urls_file: str | None, from_search: str | None) -> list[str]:
    """Return the URLs of all three, in this order. Raises BadParameter or UsageError; exits where a search failed."""
    if urls_file == "-" and from_search == "-":
        raise click.UsageError(f"{_FILE} and {_SEARCH} cannot both read standard input.")
    if not arguments and urls_file is None and from_search is None:
        raise click.UsageError(f"Give a URL, or {_FILE}, or {_SEARCH}.")
    urls = [*arguments]
    if urls_file is not None:
        urls += _listed(read_text(urls_file, _FILE, _MAX_FILE))
    if from_search is not None:
        urls += _found(read_text(from_search, _SEARCH, _MAX_SEARCH))
    return urls


def chosen(urls: Iterable[str], include: Sequence[str], exclude: Sequence[str], top: int | None) -> list[str]:
    """Return the URLs on the hosts that the domains leave, as a search would (R3), and of those the first `top`.

    Raises BadParameter for what is no domain.
    """
    if include or exclude:
        included, excluded = DOMAINS
        may_stay = host_filter(Filter(_normal(include, included), _normal(exclude, excluded)))
        addresses = ((url, read_url(url)) for url in urls)
        urls = [url for url, address in addresses if may_stay is None or may_stay(address.host if address else "")]
    return [*urls][:top]


def stop(reason: str, status: ExitStatus) -> NoReturn:
    """Say why there is no batch, and exit."""
    complain(reason)
    raise click.exceptions.Exit(status)


def _normal(domains: Sequence[str], field: Field) -> tuple[str, ...]:
    names = [normalise_domain(each) for each in domains]
    normal = tuple(sorted({name for name in names if name}))
    if None in names or len(normal) > (field.max_items or 0):
        raise click.BadParameter(f"it takes {takes(field.name)}.", param_hint=f"'{flag(field)}'")
    return normal


def _listed(text: str) -> list[str]:
    """Return the URLs of a file: a JSON array, or one on a line, where empty lines and those behind # do not count."""
    if text.lstrip().startswith("["):
        urls: list[str] = read_json(text, _FILE)
        if not all(isinstance(url, str) for url in urls):
            raise unfit(_FILE, "the file is not a JSON array of strings.")
        return urls
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _found(text: str) -> list[str]:
    """Return the URLs of the hits of an answer, best first; exit when it is none because the search failed."""
    if not text.strip():
        stop(f"{_SEARCH}: there is nothing to read: the search before it failed, or was without --json", _FAILED)
    answer = read_json(text, _SEARCH)
    if isinstance(answer, dict) and isinstance(answer.get("error"), str):
        error, hint = answer["error"], answer.get("hint")
        words = printable(f"{error} {hint}" if isinstance(hint, str) else error)
        stop(f"{_SEARCH}: the search failed: {words}", _SEARCH_ENDS.get(error, _FAILED))
    hits = answer.get("results") if isinstance(answer, dict) else None
    if not isinstance(hits, list) or not all(isinstance(hit, dict) and isinstance(hit.get("url"), str) for hit in hits):
        raise unfit(_SEARCH, "that is not what sift search --json prints.")
    return [hit["url"] for hit in hits]


_FAILED = ExitStatus.FAILED
