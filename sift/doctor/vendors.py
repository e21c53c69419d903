"""Asking the vendors of all sources that are on, at no cost (contract: Doctor)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from sift.config import SourceConfig
from sift.errors import SourceError
from sift.findings import Finding, caution
from sift.sources.probes import Ask, Probe, unreached
from sift.wire.look import Seen, look


def ask_vendor(
    source: SourceConfig,
    url: str,
    probe: Probe | None,
    end: float,
    get: Callable[..., Seen] = look,
    clock: Callable[[], float] = time.monotonic,
) -> list[Finding]:
    """Return what a vendor says, each request within the source's own timeout.

    url: the variable that holds its address. end: of all requests, in seconds of the clock.
    """
    if probe is None:
        return [caution(source.name, "it cannot be asked at no cost", "sift doctor --search asks it")]
    found: list[Finding] = []
    try:
        found.extend(probe(source, _asking(source.timeout, end, get, clock)))
    except SourceError as error:
        found.append(unreached(source.name, url, error))
    return found


def _asking(timeout: float, end: float, get: Callable[..., Seen], clock: Callable[[], float]) -> Ask:
    def ask(url: str, headers: Mapping[str, str]) -> Seen:
        return get(url, headers, deadline=min(end, clock() + timeout))

    return ask
