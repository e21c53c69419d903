"""The whole examination, in the order in which things depend on each other (contract: Doctor)."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from sift.config import Config
from sift.doctor.keys import check_keys, look_at_keys
from sift.doctor.service import CHECK as SERVICE
from sift.doctor.settings import read_settings
from sift.doctor.state import check_ledger, check_state, look_at_state
from sift.doctor.surroundings import check_auth, check_files, points_at_sift
from sift.doctor.together import Check, guarded, together
from sift.doctor.user import acting_as, name_of, owner_of
from sift.doctor.vendors import ask_vendor
from sift.errors import ConfigError
from sift.findings import Finding, caution, fail, ok
from sift.server.capacity import raise_limit
from sift.sources import DECLARED, probe_of
from sift.store.open import LEDGER_FILE, check_store
from sift.store.sqlite.inspect import inspect
from sift.wire.look import is_here

SECONDS = 20.0
"""For everything that waits for others, together."""
_LEDGER_SECONDS = 2.0
_SOMEBODY = "USER"
_ANSWERS_AT = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
_STORE = {
    "store_unreachable": fail(
        "store", "the server of SIFT_STORE_URL does not answer", "start it, or correct SIFT_STORE_URL; see its log"
    ),
    "store_not_imported": caution(
        "store", "the files here hold credits of today or unfinished batches", "stop Sift, then: sift store import"
    ),
}


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an examination is told of the world.

    ask_service: asks the service at an address (None: that of SIFT_URL; "": there is none), and returns what it found.
    search: makes a search there; None for none. now: UTC. node: this host's name. seconds: for all that is asked.
    """

    ask_service: Callable[[str | None], list[Finding]]
    search: Callable[[str | None], list[Finding]] | None
    now: datetime
    node: str
    seconds: float = SECONDS


def examine(environ: Mapping[str, str], around: Surroundings) -> Iterator[Finding]:
    """Yield what is right and wrong with a set-up, in the order of what depends on what."""
    logging.getLogger("sift").addHandler(logging.NullHandler())  # what the store logs is told by its finding
    settings = read_settings(environ, DECLARED)
    config = settings.config
    yield from settings.found
    if settings.has_state:
        yield from guarded("state", lambda: _on_disk(config, around.now))
    yield from guarded("files", lambda: [check_files(config, _open_files(config))])
    yield from guarded("auth", lambda: [check_auth(config)])
    url = environ.get("SIFT_URL", "").strip()
    bound = None if url else _bound(config.bind)
    yield from _asked(config, url, bound, around)
    if search := around.search:
        yield from guarded("search", lambda: search(bound))


def _on_disk(config: Config, now: datetime) -> list[Finding]:
    """Return what the service's user finds on the disk: the owner of the state directory, or this process's user."""
    mine = os.geteuid()
    found_owner = owner_of(config.state_dir)
    user = mine if found_owner is None else found_owner
    with acting_as(user) as has_rights:
        return list(_as_user(config, user, now)) if has_rights else [_stranger(config.state_dir, user, mine)]


def _stranger(state: Path, user: int, mine: int) -> Finding:
    """Return that this process can neither be nor become the user who owns the state directory."""
    what = f"{state} belongs to user {name_of(user)}, and this is user {name_of(mine)}"
    cure = (
        f"run this as user {name_of(user)} or root; if Sift runs as {name_of(mine)}: chown -R {name_of(mine)} {state}"
    )
    return fail("state", what, cure)


def _as_user(config: Config, user: int, now: datetime) -> Iterator[Finding]:
    state, who = config.state_dir, name_of(user)
    if user == 0 and not state.exists():
        who = _SOMEBODY  # root makes it for a user who is not known yet
    yield from guarded("state", lambda: check_state(state, look_at_state(state), who))
    if not config.store_url:
        path = state / LEDGER_FILE
        yield from guarded("ledger", lambda: check_ledger(path, inspect(path, _LEDGER_SECONDS), who, now.date()))
    if config.auth:
        shown = _shown(config.keys_file, state)
        yield from guarded("keys", lambda: check_keys(look_at_keys(config.keys_file), user, who, shown, now))


def _shown(path: Path, state: Path) -> str:
    """Return a path as a command takes it: what is outside the state directory is not printed."""
    return str(path) if path.is_relative_to(state) else "$SIFT_KEYS_FILE"


def _open_files(config: Config) -> int:
    return raise_limit(config.threads, max(1, len(config.sources)) * (2 if config.demo else 1))


def _asked(config: Config, url: str, bound: str | None, around: Surroundings) -> Iterator[Finding]:
    checks: dict[str, Check] = {}
    if config.store_url:
        checks["store"] = lambda: _store(config)
    checks[SERVICE] = lambda: around.ask_service(bound)
    end = time.monotonic() + around.seconds - 1.0  # the last request ends before it is given up
    names = frozenset({around.node.lower(), around.node.lower().partition(".")[0]})
    variables = {each.name: each for each in DECLARED}
    mine: list[Finding] = []
    for source in () if config.demo else config.sources:
        variable = variables[source.name].variable("URL")
        if points_at_sift(source, config.bind, url, names, is_here):
            mine.append(
                fail(source.name, f"{variable} is the address of Sift itself", f"set {variable} to the vendor's")
            )
        else:
            checks[source.name] = partial(ask_vendor, source, variable, probe_of(source.name), end)
    yield from together(checks, around.seconds)
    yield from mine


def _store(config: Config) -> list[Finding]:
    try:
        warnings = check_store(config)
    except ConfigError as error:
        what, _, more = str(error).partition(": ")
        if what != "SIFT_STORE_URL" and more:
            return [fail("store", what, more)]
        return [fail("store", str(error), "correct the server, or name another in SIFT_STORE_URL")]
    return [_STORE[event] for event, _ in warnings] or [ok("store", "the database answers, and is fit")]


def _bound(binds: tuple[str, ...]) -> str:
    """Return where a service on this host is to be reached; "" where only a socket file leads to it."""
    for bind in binds:
        if not bind.startswith("unix:"):
            host, _, port = bind.rpartition(":")
            return f"http://{_ANSWERS_AT.get(host, host)}:{port}"
    return ""
