"""What the first process of a service reads once, and those forked from it inherit."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache

from sift import log
from sift.app import open_keys
from sift.auth.identify import KeyFile
from sift.config import Config, unknown_variables
from sift.server.capacity import fit, raise_limit
from sift.server.headcount import Headcount
from sift.sources import DECLARED
from sift.store.mark import Mark
from sift.store.open import check_store

FILES_OF_A_VISIT = 4
"""Files that a thread which opens pages of batches needs: a connection, its check, the store's, a child's pipes."""


@dataclass(frozen=True, slots=True)
class Start:
    """The settings, with as many threads as the limit of open files allows; and what goes with them.

    keys: None without authentication. mark: what all processes know about the ledger. headcount: how many workers there
    are to be. connections: how many a worker may accept. cpus: those that the service may use, before a worker is
    pinned to one of them.
    """

    config: Config
    keys: KeyFile | None
    mark: Mark
    headcount: Headcount
    connections: int
    cpus: frozenset[int]


@cache
def start() -> Start:
    """Read environment and key file, the first time it is called. Raises ConfigError.

    A worker that is started later finds what its master read: a file that has been spoilt since is no reason to end.
    """
    config = Config.from_env(os.environ, DECLARED)
    output = log.JsonLog(config.log_level)
    log.install(output)
    for name, meant in unknown_variables(os.environ, DECLARED).items():
        output.write("warning", "unknown_setting", {"name": name, **({"did_you_mean": meant} if meant else {})})
    calls = len(config.sources) * (2 if config.demo else 1)  # the demo answers them in the same process
    limit = raise_limit(config.threads, calls, FILES_OF_A_VISIT * config.batch_workers)
    capacity = fit(config.threads, calls, limit)
    if capacity.threads < config.threads:
        output.write("warning", "few_open_files", {"limit": limit, "threads": capacity.threads})
    for event, fields in check_store(config):
        output.write("warning", event, fields)
    keys = open_keys(config.keys_file) if config.auth else None
    cpus = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()
    return Start(replace(config, threads=capacity.threads), keys, Mark(), Headcount(), capacity.connections, cpus)
