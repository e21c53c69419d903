"""The errors of Sift. None of them knows HTTP, and none carries a query, a host or a key.

SiftError
├── ConfigError            a setting stops the start
├── InvalidJsonError       the body is no JSON object
├── InvalidQueryError      a query is missing or wrong
├── InvalidSearchError     another field is wrong
├── UnauthorizedError      no valid key
├── SourceError            one vendor call failed
└── SearchUnavailableError no source answered
"""

from __future__ import annotations


class SiftError(Exception):
    """Be the base of all errors of Sift; never raised itself."""


class ConfigError(SiftError):
    """Say in one line which setting is wrong, and how; raised at start only."""


class InvalidJsonError(SiftError):
    """Say that a request body is no JSON object (contract: Search request)."""


class InvalidQueryError(SiftError):
    """Say that `query` or `queries` is missing or wrong (contract: Queries)."""


class InvalidSearchError(SiftError):
    """Name the first wrong field that is not a query (contract: Search request)."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field


class UnauthorizedError(SiftError):
    """Say that a request carries no valid key (contract: Callers)."""


class SourceError(SiftError):
    """Say why one vendor call failed, in a word of the closed vocabulary (contract: Failures).

    reason: the words behind `<source>: `, for example `timeout` or `http 500`.
    sent: whether the request may have left this host; only a call that never did gives its credit back.
    counts: whether the failure counts for the breaker (contract: Breaker).
    retry_after: seconds the vendor asked to be left alone, where it said so.
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
        self.detail = detail


class SearchUnavailableError(SiftError):
    """No source could be asked, or all failed in every query (contract: Unavailable).

    retry_after: whole seconds until a skipped source may be asked again, where that is known.
    """

    def __init__(
        self, warnings: tuple[str, ...], sources_failed: tuple[str, ...], retry_after: int | None = None
    ) -> None:
        super().__init__("search unavailable")
        self.warnings = warnings
        self.sources_failed = sources_failed
        self.retry_after = retry_after
