"""The errors of Sift. None of them knows HTTP, and none carries a query, a host or a key.

SiftError
├── ConfigError             a setting stops the start
├── InvalidJsonError        the body is not a JSON object
├── InvalidQueryError       a query is missing or wrong
├── InvalidSearchError      another field is wrong
├── InvalidFetchError       a field of a fetch is wrong
├── FetchError              a page could not be had
├── InvalidBatchError       a field of a batch is wrong
├── UnknownBatchError       the caller has no such batch
├── ExtractError            no text could be made of a page
├── StoreError              the store of batches cannot be read or written
├── BatchLimitError         the caller has too many batches under way
├── IdempotencyError        the key was used for another request
├── UnauthorizedError       no valid key
├── GuardError              something may not be fetched
│   ├── RefusedURLError     by its text alone
│   └── RefusedAddressError by what a look-up or a connection told
├── SourceError             one vendor call failed
│   └── NoThreadError       it could not be made: no thread
└── SearchUnavailableError  no source answered
"""

from __future__ import annotations


class SiftError(Exception):
    """Base class of all errors of Sift; never raised itself."""


class ConfigError(SiftError):
    """A setting is wrong; the message says in one line which, and how. Raised at start only."""


class InvalidJsonError(SiftError):
    """A request body is not a JSON object (contract: Search request)."""


class InvalidQueryError(SiftError):
    """`query` or `queries` is missing or wrong (contract: Queries)."""


class InvalidSearchError(SiftError):
    """Another field is wrong; `field` names the first one (contract: Search request)."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


class InvalidFetchError(SiftError):
    """A field of a fetch is wrong; `field` names the first one (contract: Fetch)."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


class InvalidBatchError(SiftError):
    """A field of a batch, or of a question about one, is wrong; `field` names the first one (contract: Batch)."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


class UnknownBatchError(SiftError):
    """The caller has no such batch: there never was one, it has expired, or it is another's (contract: Batch)."""


class FetchError(SiftError):
    """A page could not be had (contract: Fetch). Carries no URL, host or address.

    state: what went wrong, of a closed vocabulary. hint: where, "" when there is no more to say.
    retry_after: seconds after which the site wants to be asked again, if it said so.
    """

    def __init__(self, state: str, hint: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(state)
        self.state = state
        self.hint = hint
        self.retry_after = retry_after


class ExtractError(SiftError):
    """No text could be made of a page, not even by the fallback (contract: Page text)."""


class StoreError(SiftError):
    """The store cannot be read or written now (contract: Store). Carries no URL, key or address."""


class BatchLimitError(SiftError):
    """A caller has as many batches under way as its class may (contract: Store).

    retry_after: whole seconds after which another attempt makes sense.
    """

    def __init__(self, retry_after: int) -> None:
        super().__init__("batch limit")
        self.retry_after = retry_after


class IdempotencyError(SiftError):
    """An idempotency key was used before, for another request (contract: Store)."""


class UnauthorizedError(SiftError):
    """A request carries no valid key (contract: Callers)."""


class GuardError(SiftError):
    """Something may not be fetched (contract: Guard); never raised itself. None of them says what was refused."""


class RefusedURLError(GuardError):
    """The text of a URL alone rules it out.

    hint: why: `scheme`, `port`, `address`, `name`, `userinfo` or `form`.
    """

    def __init__(self, hint: str) -> None:
        super().__init__(hint)
        self.hint = hint


class RefusedAddressError(GuardError):
    """A look-up led to an address that is not public, or a connection to one that was not checked."""

    def __init__(self) -> None:
        super().__init__("address")


class SourceError(SiftError):
    """A vendor call failed (contract: Failures).

    reason: one of the closed vocabulary of failures, for example `timeout` or `http 500`.
    sent: whether any of the request may have left this host; only a call that never did is refunded.
    counts: whether the failure counts for the breaker (contract: Breaker).
    retry_after: the seconds of rest that the vendor asked for, if it did.
    notes: what in the query may have caused it; set by the source, in the form of its notes.
    detail: why it is unreachable, for the operator's log: `certificate`, `tls`, `name`, `refused`, `reset`; else "".
    """

    def __init__(
        self,
        reason: str,
        *,
        sent: bool = True,
        counts: bool = False,
        retry_after: float | None = None,
        detail: str = "",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.sent = sent
        self.counts = counts
        self.retry_after = retry_after
        self.notes: tuple[str, ...] = ()
        self.detail = detail

    @property
    def hung_up(self) -> bool:
        """Whether the vendor ended the call after the request was sent and before a status line came."""
        return self.sent and self.reason == "unreachable"


class NoThreadError(SourceError):
    """A vendor call could not be made, because the host lets Sift start no more threads (contract: Skips)."""

    def __init__(self) -> None:
        super().__init__("no thread left", sent=False)


class SearchUnavailableError(SiftError):
    """No source could be asked, or all failed in every query (contract: Unavailable).

    retry_after: whole seconds until a skipped source may be asked again, if known.
    """

    def __init__(
        self, warnings: tuple[str, ...], sources_failed: tuple[str, ...], retry_after: int | None = None
    ) -> None:
        super().__init__("search unavailable")
        self.warnings = warnings
        self.sources_failed = sources_failed
        self.retry_after = retry_after
