"""`/v1/batch` and what is below it (contract: Batch)."""

from __future__ import annotations

from typing import Any, get_args

from flask import Response, g, request

from sift.api import batch
from sift.api.errors import json_response
from sift.batch.model import BatchStatus, Only, PlaceResult
from sift.batch.result import answer_of
from sift.batch.schema import load_batch, unknown_field_warnings
from sift.errors import InvalidBatchError, UnknownBatchError
from sift.search.model import encode

MAX_WAIT = 20
"""Seconds that a request may wait for the end of a batch."""
_ONLY = {only: only for only in get_args(Only)}


def submit() -> Response:
    """Take a batch."""
    payload = batch.read_payload()
    receipt = batch.submitted(load_batch(payload, g.caller.cls), payload, "Idempotency-Key")
    counts = {"id": receipt.id, "status": "queued", "total": receipt.total, "duplicates": receipt.duplicates}
    more: dict[str, Any] = {"expires_at": batch.iso(receipt.expires_at)}
    if receipt.replayed:
        more["replayed"] = True
    if warnings := unknown_field_warnings(payload):
        more["warnings"] = warnings
    # The refusals go out as they were kept: as text they may hold what UTF-8 cannot.
    body = b'%s, "invalid": %s, %s' % (encode(counts)[:-1], receipt.invalid.encode(), encode(more)[1:])
    return Response(body, 200 if receipt.replayed else 202, mimetype="application/json")


def listed() -> Response:
    """Return the caller's batches, the newest first."""
    return json_response({"batches": [_numbers(each) for each in batch.jobs().list(g.caller.name)]})


def status(id: str) -> Response:
    """Return a batch's numbers, at its end or when the caller has waited long enough."""
    return json_response(_numbers(batch.status_of(id, batch.parameter("wait", 0, 0, MAX_WAIT))))


def results(id: str) -> Response:
    """Return some of a batch's places with what has become of them."""
    offset = batch.parameter("offset", 0, 0, 1_000_000)
    limit = batch.parameter("limit", 20, 1, 50)
    only = _ONLY.get(request.args.get("only", ""))
    if only is None:
        raise InvalidBatchError("only")
    page = batch.jobs().page(g.caller.name, batch.checked(id), offset=offset, limit=limit, only=only)
    if page is None:
        raise UnknownBatchError
    head = encode({"id": page.id, "status": page.state})[:-1]
    items = b", ".join(map(_item, page.items))
    more = b"" if page.next_offset is None else b', "next_offset": %d' % page.next_offset
    return Response(b'%s, "items": [%s]%s}' % (head, items, more), mimetype="application/json")


def errors(id: str) -> Response:
    """Return the places of a batch that failed."""
    failed = batch.errors_of(id)
    return json_response(
        {
            "errors": [
                {
                    "index": place.index,
                    "url": place.url,
                    "error": place.error,
                    "hint": place.hint,
                    "at": None if place.at is None else batch.iso(place.at),
                }
                for place in failed
            ],
            "robots_disallowed": [place.url for place in failed if place.error == batch.ROBOTS],
        }
    )


def cancel(id: str) -> Response:
    """End a batch, or delete it with all its texts."""
    batch.end(id, purges=batch.parameter("purge", 0, 0, 1) == 1)
    return json_response({"id": id, "status": "cancelled"})


def _numbers(found: BatchStatus) -> dict[str, Any]:
    return {
        "id": found.id,
        "status": found.state,
        "total": found.total,
        "ok": found.ok,
        "failed": found.failed,
        "pending": found.pending,
        "created_at": batch.iso(found.created_at),
        **({} if found.finished_at is None else {"finished_at": batch.iso(found.finished_at)}),
        "expires_at": batch.iso(found.expires_at),
    }


def _item(place: PlaceResult) -> bytes:
    """Return a place as JSON; its page goes in as it was stored, without being parsed."""
    said = {"error": place.error, "hint": place.hint} if place.state == "failed" else {}
    item = {"index": place.index, "url": place.url, "state": place.state, "attempts": place.attempts, **said}
    if place.result is None:
        return encode(item)
    return b'%s, "result": %s}' % (encode(item)[:-1], answer_of(place.result, place.url))
