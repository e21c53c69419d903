"""Calling a tool: arguments in, the service's answer as text out; no word of the SDK (contract: MCP)."""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from sift.errors import ConfigError
from sift.mcp.arguments import body_of
from sift.mcp.refusals import NO_JSON, refusal, unreachable
from sift.mcp.texts import batch_text, page_text, search_text
from sift.mcp.tools import BATCH, SEARCH, Tool

if TYPE_CHECKING:
    from sift.client import Response, SiftClient

MOST_WAIT = 45.0  # seconds for the pages of a batch; several clients give a call a minute
_STEP = 10  # seconds that one request waits for them
_PAGE = 50  # results in one request
_DONE = ("done", "cancelled")

Ask = Callable[[Callable[[], "Response"]], Awaitable["Response"]]
"""Makes a call that blocks without blocking the server."""
GiveUp = Callable[[Callable[[], "Response"]], None]
"""Begins a call whose outcome nobody waits for."""


class Answer(NamedTuple):
    """What a model gets. is_error: whether the call was refused or failed."""

    text: str
    is_error: bool = False


class RefusedError(Exception):
    """Raised inside a call for what the service refuses. It holds the response."""

    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


async def answer(
    tool: Tool,
    arguments: Mapping[str, Any],
    connect: Callable[[], SiftClient],
    ask: Ask,
    give_up: GiveUp,
    *,
    key: str,
    clock: Callable[[], float] = time.monotonic,
) -> Answer:
    """Return the answer to a call, whatever comes of it.

    connect: returns the client of the service, with the caller's key. key: where a valid key belongs, for the sentence
    that says that there is none. clock: in seconds.
    """
    # Imported late: requests takes long to load, and no tools/list needs it.
    from sift.client import ForeignResponseError, UnreachableError

    try:
        body = body_of(tool, arguments)
    except ValueError:
        return Answer(NO_JSON, is_error=True)
    try:
        return Answer(await _answered(tool, body, connect(), ask, give_up, clock))
    except ConfigError:  # the address was good when the server started: it is the key
        return Answer(f"Unauthorized: {key} must hold a valid key.", is_error=True)
    except RefusedError as error:
        return Answer(refusal(error.response, tool, key), is_error=True)
    except (UnreachableError, ForeignResponseError) as error:
        return Answer(unreachable(error), is_error=True)


async def _answered(
    tool: Tool, body: Mapping[str, Any], client: SiftClient, ask: Ask, give_up: GiveUp, clock: Callable[[], float]
) -> str:
    if tool is SEARCH:
        return search_text(_good(await ask(lambda: client.search(body))))
    if tool is BATCH:
        return await _pages(body, client, ask, give_up, clock)
    start = body.get("start")
    page = _good(await ask(lambda: client.fetch(body)))
    return page_text(page, start if isinstance(start, int) else 0)


async def _pages(
    body: Mapping[str, Any], client: SiftClient, ask: Ask, give_up: GiveUp, clock: Callable[[], float]
) -> str:
    """Submit a batch, wait for its end up to a bound, and return what is there of its pages by then."""
    began = clock()
    key = secrets.token_hex(16)
    receipt = _good(await ask(lambda: client.submit_batch(body, key)))
    name, status = receipt["id"], receipt["status"]
    try:
        while status not in _DONE and (left := MOST_WAIT - (clock() - began)) >= 1:
            wait = min(_STEP, int(left))
            status = _good(await ask(partial(client.batch, name, wait)))["status"]
        items = await _items(partial(client.batch_results, name, limit=_PAGE), ask)
    except Exception:
        raise
    except BaseException:  # nobody waits for it any more, and nobody else knows its name
        give_up(lambda: client.cancel_batch(name))
        raise
    items |= {each["index"]: each | {"state": "failed"} for each in receipt["invalid"]}
    in_order = [items[index] for index in sorted(items)]
    return batch_text(in_order, receipt.get("warnings", []), waited=clock() - began)


async def _items(results: Callable[..., Response], ask: Ask) -> dict[int, dict[str, Any]]:
    """Return all results of a batch by their index."""
    items: dict[int, dict[str, Any]] = {}
    offset: int | None = 0
    while offset is not None:
        page = _good(await ask(partial(results, offset=offset)))
        items |= {each["index"]: each for each in page["items"]}
        following = page.get("next_offset")
        offset = following if isinstance(following, int) and following > offset else None  # else it would never end
    return items


def _good(response: Response) -> dict[str, Any]:
    if response.status not in (200, 202):
        raise RefusedError(response)
    return response.payload
