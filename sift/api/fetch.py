"""What all fetch routes share: fetching, writing exactly one log record, raising a failure."""

from __future__ import annotations

from sift.api.services import Services
from sift.auth.caller import Caller
from sift.errors import FetchError
from sift.fetch.model import Failed, FetchRequest, Page


def run_fetch(services: Services, caller: Caller, request: FetchRequest) -> tuple[Page, bool]:
    """Return the page of a valid request of a caller, and whether it was kept from before; log the fetch.

    Raises FetchError.
    """
    assert services.fetcher is not None  # the routes are there only with it
    services.observer.work_began()
    try:
        fetched = services.fetcher().fetch(request, caller.name, caller.cls)
    finally:
        services.observer.work_ended()
    outcome = fetched.outcome
    state = outcome.state if isinstance(outcome, Failed) else "ok"
    services.observer.fetch_ended(state, fetched.cache, fetched.seconds)
    services.log.record_fetch(
        caller,
        state=state,
        ms=round(fetched.seconds * 1000),
        size=fetched.bytes,
        hops=fetched.hops,
        cache=fetched.cache,
    )
    if isinstance(outcome, Failed):
        raise FetchError(outcome.state, outcome.hint)
    return outcome, fetched.cache == "hit"
