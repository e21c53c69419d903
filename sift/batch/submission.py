"""From a valid request to what the store keeps of it: places, repeats, refusals (contract: Batch). Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from sift.batch.model import BatchRequest, Place, Submission
from sift.errors import InvalidBatchError, RefusedURLError
from sift.guard.url import Target


def submission_of(
    request: BatchRequest,
    caller: str,
    cls: str,
    *,
    target: Callable[[str], Target],
    canonical: Callable[[str], str],
    body: str,
    key: str = "",
) -> Submission:
    """Return what is submitted for a caller. Raises InvalidBatchError naming `urls` when none of them may be opened.

    target: what a URL leads to, by its text; raises RefusedURLError. canonical: the key of a URL as the target rebuilds
    it, which is the same for URLs of one page. body: a digest of the request. key: the idempotency key, "" for none.
    """
    places: list[Place] = []
    invalid: list[dict[str, object]] = []
    for index, url in enumerate(request.urls):
        try:
            found = target(url)
        except RefusedURLError as error:
            invalid.append({"index": index, "url": url, "error": "url not allowed", "hint": error.hint})
        else:
            places.append(Place(index, url, canonical(found.url), found.host))
    if not places:
        raise InvalidBatchError("urls")
    return Submission(
        caller,
        cls,
        tuple(places),
        # In ASCII: a refused URL may hold what no UTF-8 can, such as half of a surrogate pair.
        invalid=json.dumps(invalid),
        format=request.format,
        max_chars=request.max_chars,
        max_age=request.max_age,
        ttl=request.ttl,
        body=body,
        key=key,
    )


def digest_of(door: str, payload: Mapping[str, Any]) -> str:
    """Return a digest of a request, the same for bodies that differ in white space and the order of keys alone.

    door: the path that the request came through; what means one thing at two of them is another request.
    """
    text = json.dumps([door, payload], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
