"""An application with a real store of batches, whose worker is the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sift.app import create_app
from sift.auth.caller import Caller
from sift.batch.model import Claim, Outcome
from sift.batch.protocols import Jobs
from sift.batch.result import encode, wanted
from sift.errors import StoreError
from tests.api.fetching import FakeFetcher, page
from tests.fakes import engine_of, services_of
from tests.store.engines import Clock, Engine, SqliteEngine

PATH = "/v1/batch"
ONE, TWO = "https://canary-one.com/a?q=canary", "https://canary-two.com/b"
NOON = "2026-09-29T12:00:00Z"


class AwayJobs:
    """A store that does not answer."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def away(*values: object, **more: object) -> None:
            raise StoreError

        return away


class App:
    """An application with batches of its own, and two callers: `fleet` and `restricted`, by the name of their key.

    clock: the store's. lines: what is logged. woken: how often the workers of the process were told of a batch.
    """

    def __init__(
        self, directory: Path, jobs: Jobs | None = None, engine: Engine | None = None, **services: Any
    ) -> None:
        self.clock = Clock()
        self._engine = engine or SqliteEngine(directory)
        self.jobs = jobs or self._engine.jobs(self.clock, gap=0.0)
        self.lines: list[bytes] = []
        self.woken = 0
        callers: dict[str, Caller] = {f"Bearer {cls}": Caller(cls, cls) for cls in ("fleet", "restricted")}  # type: ignore[arg-type]
        callers["Bearer another"] = Caller("another", "fleet")
        made = services_of(engine_of(), callers=callers, lines=self.lines, fetcher=FakeFetcher())
        self.app = create_app(services=replace(made, jobs=lambda: self.jobs, wake=self._wake, **services))

    def request(self, method: str, path: str, body: object = None, caller: str = "fleet", **headers: str) -> Any:
        """Send a request; bytes go as they are."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.app.test_client().open(
            path, method=method, data=data, headers={"Authorization": f"Bearer {caller}", **named}
        )

    def get(self, path: str, caller: str = "fleet") -> Any:
        """GET a path."""
        return self.request("GET", path, None, caller)

    def post(self, body: object, path: str = PATH, **how: str) -> Any:
        """Submit a batch."""
        return self.request("POST", path, body, **how)

    def submitted(self, *urls: str, path: str = PATH, **fields: Any) -> str:
        """Submit a batch that must be taken; return its id."""
        reply = self.post({"urls": urls, **fields}, path)
        assert reply.status_code in (200, 202), reply.json
        return str(reply.json["id"])

    def claim(self) -> Claim:
        """Take an item that must be there."""
        claim = self.jobs.claim("worker")
        assert claim is not None
        return claim

    def open(self, **changes: Any) -> Claim:
        """Open the next item's page, as a worker does."""
        claim = self.claim()
        assert self.jobs.finish(claim, Outcome("ok", result=encode(wanted(claim), page(**changes), is_cached=False)))
        return claim

    def fail(self, error: str, hint: str = "") -> Claim:
        """Fail to open the next item's page."""
        claim = self.claim()
        assert self.jobs.finish(claim, Outcome("failed", error, hint))
        return claim

    def close(self) -> None:
        """Close the store."""
        self._engine.close()

    def _wake(self) -> None:
        self.woken += 1
