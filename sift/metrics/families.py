"""The metrics: their names, labels and meaning. No label holds anything of a request or a caller but its class."""

from __future__ import annotations

from typing import Literal, NamedTuple

# How the numbers of several workers become one: those of counters and histograms are added up, dead workers' included.
Kind = Literal["counter", "histogram", "gauge_livemax", "gauge_livemin", "gauge_livesum", "gauge_livemostrecent"]

BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets of every histogram, in seconds."""

CLASSES = ("restricted", "fleet")
CACHE_USES = ("hit", "miss", "shared", "off")
STATUSES = {True: "200", False: "503"}
"""By whether a search was answered."""
FETCH_STATES = (
    *("ok", "url not allowed", "robots disallow", "unsupported content type", "fetch failed", "fetch timeout", "busy"),
    "other",
)
PAGE_USES = ("hit", "miss", "shared")
ITEM_STATES = ("ok", "failed", "cancelled")
OTHER = "other"
FAILURES = (
    *("timeout", "unreachable", "bad response", "response too large", "redirect refused", "no engine answered"),
    *("internal error", "http_4xx", "http_5xx", OTHER),
)
SKIPS = (
    *("daily cap", "daily cap unavailable", "monthly quota", "skipped after repeated failures", "no thread left"),
    "not asked",
)
OUTCOMES = ("ok", *FAILURES, *SKIPS)


class Family(NamedTuple):
    """A metric."""

    name: str
    kind: Kind
    help: str


SEARCHES = Family("sift_searches_total", "counter", "Searches, by caller class, where from and HTTP status.")
SEARCH_SECONDS = Family("sift_search_duration_seconds", "histogram", "Time that a search took, by where from.")
CALLS = Family("sift_source_calls_total", "counter", "Calls of sources, made or skipped, by what came of them.")
CALL_SECONDS = Family("sift_source_duration_seconds", "histogram", "Time that a call of a source took.")
BREAKER_OPEN = Family("sift_source_breaker_open", "gauge_livemax", "1 while a worker skips the source.")
UP = Family("sift_source_up", "gauge_livemin", "0 when the last call of a worker failed, otherwise 1.")
SAVED = Family("sift_credits_saved_total", "counter", "Calls that cache and sharing spared.")
FETCHES = Family("sift_fetches_total", "counter", "Pages asked for, by what came of it and where from.")
FETCH_SECONDS = Family("sift_fetch_duration_seconds", "histogram", "Time that a page took, by where from.")
BATCH_ITEMS = Family("sift_batch_items_total", "counter", "Items of batches that ended, by state.")
BATCH_WAITING = Family("sift_batch_items_waiting", "gauge_livemostrecent", "Items of batches that wait.")
CACHE_ENTRIES = Family("sift_cache_entries", "gauge_livesum", "Answers in the caches of all workers.")
IN_FLIGHT = Family("sift_in_flight", "gauge_livesum", "Searches and fetches that are under way.")
AUTH_FAILURES = Family("sift_auth_failures_total", "counter", "Requests refused for their key.")
LINES_DROPPED = Family("sift_log_lines_dropped_total", "counter", "Lines of the log that nobody read in time.")
BUILD_INFO = Family("sift_build_info", "gauge_livemax", "Always 1; the version is its label.")

CREDITS_USED = ("sift_credits_used", "Credits used on this UTC day, as the ledger has them.")
CREDITS_LIMIT = ("sift_credits_limit", "Credits a UTC day.")


def outcome_label(outcome: str) -> str:
    """Return the label of a call's outcome or of the reason of a skip: one of OUTCOMES, whatever it is given."""
    if outcome.startswith("http "):
        outcome = f"http_{outcome[5:6]}xx"
    return outcome if outcome in OUTCOMES else OTHER
