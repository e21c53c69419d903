"""Batches of the services in the world, and the processes that work on them."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.real.programs import SIFT, bearer
from tests.waiting import wait_for
from tests.world.service import Inside
from tests.world.world import Seen, World


def submit(sift: Inside, *urls: str, cls: str = "fleet", **fields: Any) -> str:
    """Submit a batch as a caller of this class, and return its id."""
    reply = sift.post("/v1/batch", {"urls": urls, **fields}, bearer(sift.tokens[cls]))
    assert reply.status == 202, reply
    found: str = reply.json()["id"]
    return found


def status(sift: Inside, batch: str, cls: str = "fleet") -> dict[str, Any]:
    """Return a batch in numbers."""
    reply = sift.get(f"/v1/batch/{batch}", bearer(sift.tokens[cls]))
    assert reply.status == 200, reply
    found: dict[str, Any] = reply.json()
    return found


def await_end(sift: Inside, batch: str, cls: str = "fleet", seconds: float = 40) -> list[dict[str, Any]]:
    """Wait for the end of a batch and return its items."""
    wait_for(lambda: status(sift, batch, cls)["status"] in ("done", "cancelled"), seconds)
    reply = sift.get(f"/v1/batch/{batch}/results?limit=50", bearer(sift.tokens[cls]))
    items: list[dict[str, Any]] = reply.json()["items"]
    return items


def visits(world: World, host: str) -> list[Seen]:
    """Return the requests for pages of a host, in the order in which they came; its robots.txt belongs to the first."""
    return sorted(
        (hit for hit in world.outside.requests(host=host) if hit.target != "/robots.txt"), key=lambda hit: hit.began
    )


def gaps(world: World, host: str) -> list[float]:
    """Return the seconds between the end of each visit to a host and the begin of the next one."""
    return [after.began - before.ended for before, after in pairwise(visits(world, host))]


@contextmanager
def worker(world: World, path: Path, environ: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run `sift worker` inside, its log in `worker.log`; stop it at the end."""
    with (path / "worker.log").open("ab") as log:
        process = world.inside.popen([SIFT, "worker"], env=dict(environ), stdout=log, stderr=log)
    try:
        wait_for(lambda: b'"starting"' in (path / "worker.log").read_bytes())
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(20)
