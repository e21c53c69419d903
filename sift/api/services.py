"""The services that views use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from flask import current_app

from sift.auth.caller import Caller
from sift.log import JsonLog
from sift.observe import NULL_OBSERVER, Observer
from sift.search.engine import Engine

if TYPE_CHECKING:
    from sift.batch.protocols import Jobs
    from sift.fetch.fetcher import Fetcher


class Credits(NamedTuple):
    """The credits of a capped source on the current day.

    used: None when the ledger cannot be read. resets_at: the end of the day, in ISO 8601 with `Z`.
    """

    used: int | None
    limit: int
    resets_at: str


class Stopping:
    """Whether the process has been told to end. A plain flag: a signal handler, which sets it, must take no lock."""

    is_set = False


@dataclass(frozen=True, slots=True)
class Services:
    """The services of an application, as `create_app` wires them.

    identify: maps an Authorization header to its caller; raises UnauthorizedError.
    refused: called with the peer's address after each refused attempt.
    cache_stats: returns the number of entries and the hit rate.
    credits: returns the credits of every capped source, by name.
    ready: whether a search could be answered now. workers: returns how many there are to be.
    scrape: returns the metrics of all workers in Prometheus's text format with its content type, None when they cannot
    be had. It is None itself when there are none; why_no_metrics then says why, if that is not by choice.
    observer: hears of what the views see.
    source_status: returns what the status says of a source besides its name and credits.
    usage: returns what was used in so many days, the newest first; None when that cannot be read.
    since: when the service started, in ISO 8601 with `Z`.
    fetcher: returns what opens pages, made at its first call; None when that is switched off.
    jobs: returns what keeps the batches, loaded at its first call. wake: tells this process's threads that open the
    pages of batches that there is one more. watch: to be called by the process that serves, about once a second: these
    threads start when there may be something to do. retire: has them give back what they do; returns at once.
    threads: of requests. stopping: set when the process is to end, so that nobody waits any longer.
    public_url: the origin under which clients reach the service, "" for the one that each request names.
    checks_host: whether the Host must be local, because no key is asked for.
    demo: whether the bundled demo sources answer. page: whether there is a page for people.
    notices: warnings added to every answer.
    begin_metrics: counts from now on, in a directory and under a number that no other living worker has.
    close: books what is not yet booked.
    """

    engine: Engine
    identify: Callable[[str | None], Caller]
    refused: Callable[[str], None]
    log: JsonLog
    cache_stats: Callable[[], Mapping[str, float]]
    credits: Callable[[], Mapping[str, Credits]]
    since: str
    source_status: Callable[[str], Mapping[str, object]] = lambda name: {}
    usage: Callable[[int], Iterable[Mapping[str, object]] | None] = lambda days: ()
    ready: Callable[[], bool] = lambda: True
    workers: Callable[[], int] = lambda: 1
    scrape: Callable[[], tuple[bytes, str] | None] | None = None
    why_no_metrics: str = ""
    observer: Observer = NULL_OBSERVER
    begin_metrics: Callable[[Path, int], None] = lambda directory, slot: None
    fetcher: Callable[[], Fetcher] | None = None
    jobs: Callable[[], Jobs] | None = None
    wake: Callable[[], None] = lambda: None
    watch: Callable[[], None] = lambda: None
    retire: Callable[[], None] = lambda: None
    threads: int = 64
    stopping: Stopping = field(default_factory=Stopping)
    public_url: str = ""
    checks_host: bool = False
    demo: bool = False
    page: bool = False
    notices: tuple[str, ...] = ()
    close: Callable[[], None] = lambda: None


def services() -> Services:
    """Return the services of the current application."""
    return cast(Services, current_app.extensions["sift"])
