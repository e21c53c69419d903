"""Calls that block, made in threads that hold up no end of the process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TypeVar

import anyio
from anyio.from_thread import BlockingPortal

T = TypeVar("T")

MOST = 64  # calls at a time; more wait for their turn


class Threads:
    """Threads of one server. portal: open for as long as the server runs."""

    def __init__(self, portal: BlockingPortal, most: int) -> None:
        self._portal = portal
        self._places = anyio.Semaphore(most)

    async def run(self, work: Callable[[], T]) -> T:
        """Return what the work returns, or raise what it raises.

        A caller that is cancelled does not wait for its end; its place is taken until then.
        """
        await self._places.acquire()
        outcome: Future[T] = Future()
        ended = anyio.Event()

        def end() -> None:
            self._places.release()
            ended.set()

        def thread() -> None:
            try:
                outcome.set_result(work())
            except BaseException as error:
                outcome.set_exception(error)
            with suppress(RuntimeError):  # the server has ended
                self._portal.start_task_soon(end)

        self._begin(thread)
        await ended.wait()
        return outcome.result()

    def start(self, work: Callable[[], object]) -> None:
        """Begin work whose outcome nobody waits for."""

        def thread() -> None:
            with suppress(Exception):
                work()

        self._begin(thread)

    @staticmethod
    def _begin(work: Callable[[], None]) -> None:
        # Daemons: anyio's own threads are waited for when the process ends.
        Thread(target=work, name="sift-mcp", daemon=True).start()


async def portal_of(serve: Callable[[Threads], Awaitable[None]], most: int = MOST) -> None:
    """Run a server with threads of its own until it ends. most: of these at a time."""
    async with BlockingPortal() as portal:
        await serve(Threads(portal, most))
