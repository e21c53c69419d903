"""What the service's answers look like, as far as the command relies on it: what has another shape is not Sift's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sift.batch.ids import BATCH_ID

GATEWAY = (502, 503, 504)  # what proxies answer for a service that they cannot reach
FETCH_ERRORS = {502: "fetch failed", 503: "busy", 504: "fetch timeout"}  # and what Sift itself says with these statuses
BATCH_ERRORS = {503: "busy"}
USAGE_ERROR = "usage unavailable"
BATCH_STATES = ("queued", "running", "done", "cancelled")
ITEM_STATES = ("queued", "running", "ok", "failed", "cancelled")
MAX_INDEX = 10_000  # more than any batch has places

Shape = Callable[[int, dict[str, Any]], bool]
"""Whether a status and an object can be Sift's answer."""


def is_search(status: int, payload: dict[str, Any]) -> bool:
    """Return whether this can be the answer to a search."""
    if status == 200:
        return _are(dict, payload.get("results")) and _are(str, payload.get("warnings"))
    if status in GATEWAY and not _are(str, payload.get("sources_failed")):  # only Sift's own 503 has it
        return False
    return _is_error(status, payload)


def is_plan(status: int, payload: dict[str, Any]) -> bool:
    """Return whether this can be the answer to a plan."""
    if status == 200:
        return _are(dict, payload.get("sources")) and _are(str, payload.get("warnings"))
    return status not in GATEWAY and _is_error(status, payload)


def is_usage(status: int, payload: dict[str, Any]) -> bool:
    """Return whether this can be the answer to a question for what was used."""
    if status == 200:
        return _are(dict, payload.get("days"))
    # A proxy's error may be JSON of the same form; its word is another.
    return (status not in GATEWAY or payload.get("error") == USAGE_ERROR) and _is_error(status, payload)


def is_health(status: int, payload: dict[str, Any]) -> bool:
    """Return whether a service is there."""
    return (status, payload) == (200, {"status": "ok"})


def is_status(status: int, payload: dict[str, Any]) -> bool:
    """Return whether this can be a service's status."""
    if status == 200:
        known = isinstance(payload.get("version"), str) and isinstance(payload.get("cache"), dict)
        return known and _are(dict, payload.get("sources"))
    return status not in GATEWAY and _is_error(status, payload)


def is_fetch(status: int, payload: dict[str, Any]) -> bool:
    """Return whether this can be the answer to a fetch."""
    if status == 200:
        texts = [payload.get(name) for name in ("final_url", "content")]
        numbers = [payload.get("chars"), payload.get("next_start", 0)]
        return _are(str, texts) and _are(int, numbers) and _are(str, payload.get("warnings"))
    # A proxy's error may be JSON of the same form; its word is another.
    if status in GATEWAY and payload.get("error") != FETCH_ERRORS[status]:
        return False
    return _is_error(status, payload)


def is_receipt(status: int, payload: dict[str, Any]) -> bool:
    """Return whether this can be the answer to a batch that was submitted."""
    if status in (200, 202):
        return _is_batch(payload) and _are(int, [payload.get("total")]) and _are(dict, payload.get("invalid"))
    return _is_batch_error(status, payload)


def is_batch(status: int, payload: dict[str, Any]) -> bool:
    """Return whether this can be the state of a batch."""
    return _is_state(payload) if status == 200 else _is_batch_error(status, payload)


def is_results(status: int, payload: dict[str, Any]) -> bool:
    """Return whether this can be a page of a batch's results."""
    if status != 200:
        return _is_batch_error(status, payload)
    items, following = payload.get("items"), payload.get("next_offset", 0)
    return _is_batch(payload) and isinstance(items, list) and all(map(_is_item, items)) and _is_index(following)


def is_errors(status: int, payload: dict[str, Any]) -> bool:
    """Return whether this can be the list of a batch's failures."""
    if status != 200:
        return _is_batch_error(status, payload)
    errors = payload.get("errors")
    return isinstance(errors, list) and all(map(_is_failure, errors))


def is_ended(status: int, payload: dict[str, Any]) -> bool:
    """Return whether this can be the answer to the end of a batch that a caller wants."""
    return isinstance(payload.get("id"), str) if status == 200 else _is_batch_error(status, payload)


def is_list(status: int, payload: dict[str, Any]) -> bool:
    """Return whether this can be the list of a caller's batches."""
    if status != 200:
        return _is_batch_error(status, payload)
    batches = payload.get("batches")
    return isinstance(batches, list) and all(isinstance(each, dict) and _is_state(each) for each in batches)


def _is_state(payload: dict[str, Any]) -> bool:
    return _is_batch(payload) and _are(int, [payload.get(name) for name in ("total", "ok", "failed", "pending")])


def _is_batch(payload: dict[str, Any]) -> bool:
    # The id becomes part of a path, and of a line that says how to go on.
    name = payload.get("id")
    return isinstance(name, str) and bool(BATCH_ID.fullmatch(name)) and payload.get("status") in BATCH_STATES


def _is_item(item: object) -> bool:
    if not isinstance(item, dict) or not _is_index(item.get("index")) or not _are(str, [item.get("url")]):
        return False
    if item.get("state") == "ok":
        return isinstance(item.get("result"), dict) and is_fetch(200, item["result"])
    return item.get("state") in ITEM_STATES


def _is_failure(item: object) -> bool:
    return (
        isinstance(item, dict)
        and _is_index(item.get("index"))
        and _are(str, [item.get(name) for name in ("url", "error", "hint")])
    )


def _is_index(value: object) -> bool:
    return isinstance(value, int) and 0 <= value < MAX_INDEX


def _is_batch_error(status: int, payload: dict[str, Any]) -> bool:
    # A proxy's error may be JSON of the same form; its word is another.
    if status in GATEWAY and payload.get("error") != BATCH_ERRORS.get(status):
        return False
    return _is_error(status, payload)


def _is_error(status: int, payload: dict[str, Any]) -> bool:
    return status >= 400 and isinstance(payload.get("error"), str) and isinstance(payload.get("hint"), str)


def _are(kind: type, values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)
