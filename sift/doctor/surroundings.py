"""What the settings say together, and with the host they are on (contract: Doctor)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from ipaddress import ip_address
from urllib.parse import urlsplit

from sift.config import Config, SourceConfig
from sift.errors import ConfigError
from sift.findings import Finding, caution, fail, ok
from sift.server.capacity import fit

FILES, AUTH = "files", "auth"
_ANY = {"0.0.0.0", "::"}
_RAISE = "raise the hard limit: LimitNOFILE= in the unit, or ulimit -Hn"


def check_files(config: Config, limit: int) -> Finding:
    """Compare the limit of open files, as far as the service may raise it, with its threads."""
    calls = max(1, len(config.sources)) * (2 if config.demo else 1)
    try:
        threads = fit(config.threads, calls, limit).threads
    except ConfigError:
        return fail(FILES, f"{limit} open files are too few for a single thread", _RAISE)
    if threads < config.threads:
        return caution(FILES, f"{limit} open files are enough for {threads} of {config.threads} threads", _RAISE)
    return ok(FILES, f"{limit} open files are enough for {threads} threads")


def check_auth(config: Config) -> Finding:
    """Return whether others than this host's users could search without a key."""
    if config.auth:
        return ok(AUTH, "callers need a key")
    if all(bind.startswith("unix:") or is_loopback(_place(f"//{bind}", 0)[0]) for bind in config.bind):
        return caution(
            AUTH, "SIFT_AUTH is off: whoever is on this host may search", "SIFT_AUTH=keys, unless you are alone"
        )
    what = "SIFT_AUTH is off, and SIFT_BIND is not loopback: whoever reaches this host may search"
    return fail(AUTH, what, "SIFT_AUTH=keys, or SIFT_BIND=127.0.0.1:8787")


def points_at_sift(
    source: SourceConfig, binds: Iterable[str], url: str, names: frozenset[str], is_own: Callable[[str], bool]
) -> bool:
    """Return whether a source's URL is the address of Sift itself.

    url: where the service is. names: of this host. is_own: whether this host has an IP address.
    """
    host, port = _place(source.url)
    with suppress(ValueError):  # SIFT_URL is checked elsewhere
        if url and (host, port) == _place(url):
            return True
    is_here = is_loopback(host) or host in names or (_is_address(host) and is_own(host))
    for bind in binds:
        if bind.startswith("unix:"):
            continue
        bound, bound_port = _place(f"//{bind}")
        same = host == bound or (is_loopback(host) and is_loopback(bound)) or (bound in _ANY and is_here)
        if port == bound_port and same:
            return True
    return False


def is_loopback(host: str) -> bool:
    """Return whether a host is this one and no other's."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    return _is_address(host) and ip_address(host).is_loopback


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _place(url: str, default: int | None = None) -> tuple[str, int]:
    """Return host and port of a URL, which has been checked."""
    parts = urlsplit(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme, 0) if default is None else default
    return (parts.hostname or "").rstrip("."), usual if parts.port is None else parts.port
