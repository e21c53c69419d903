"""The immutable records of a fetch: the request, the page as it came, the page as text, a failure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from sift.errors import FetchError
from sift.fetch.extract.model import Extract, Format
from sift.fetch.fields import MAX_AGE, MAX_CHARS, TIMEOUT

CacheUse = Literal["hit", "miss", "shared"]
UNREACHABLE = frozenset({"address", "dns", "connect", "tls"})
"""The hints that tell what a look-up or a connection said; one and the same word for callers of class `restricted`."""


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A valid request. The URL is as asked, and hostile.

    max_chars, start: code points of the text. max_age, timeout: seconds. html: whether the cleaned HTML is wanted too.
    """

    url: str = field(repr=False)
    format: Format = "markdown"
    max_chars: int = MAX_CHARS
    start: int = 0
    max_age: float = MAX_AGE
    timeout: float = TIMEOUT
    html: bool = False


@dataclass(frozen=True, slots=True)
class RawPage:
    """A page as it came.

    url: the final one. content_type: without parameters, in lower case; charset: the declared one, "" for none.
    wire: bytes received. hops: redirects followed. keeps: whether the page may be kept for others.
    """

    url: str = field(repr=False)
    status: int
    content_type: str
    charset: str
    body: bytes = field(repr=False)
    wire: int
    hops: int = 0
    keeps: bool = True
    warnings: tuple[str, ...] = ()


class Sizes(NamedTuple):
    """Bytes: received, decoded, and of the whole text in UTF-8."""

    wire: int
    body: int
    content: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page as text, whole; what the cache keeps.

    text: what was extracted. fetched_at: in ISO 8601 with `Z`; at: the same moment in seconds of the monotonic clock.
    """

    url: str = field(repr=False)
    status: int
    content_type: str
    text: Extract = field(repr=False)
    warnings: tuple[str, ...]
    sizes: Sizes
    fetched_at: str
    at: float
    hops: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A fetch without a page.

    state, hint: of closed vocabularies (contract: Fetch). retry_after: seconds after which the site wants to be asked
    again, if it said so; callers are not told.
    """

    state: str
    hint: str = ""
    retry_after: float | None = None

    @classmethod
    def of(cls, error: FetchError) -> Failed:
        """Return the failure that an error stands for."""
        return cls(error.state, error.hint, error.retry_after)

    def for_class(self, cls: str) -> Failed:
        """Return what a caller of this class may learn: no answer may tell a restricted one what is inside."""
        if cls == "restricted" and self.state == "fetch failed" and self.hint in UNREACHABLE:
            return Failed(self.state, "unreachable")
        return self


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a fetch came to, for the answer and the log.

    cache: `hit`, `miss` or `shared`. seconds: how long it took. bytes, hops: of this fetch, 0 from the cache.
    delay: seconds that the robots.txt of the page's host asks for between visits; None when it does not say, or was not
    asked.
    """

    outcome: Page | Failed
    cache: CacheUse
    seconds: float
    bytes: int = 0
    hops: int = 0
    delay: float | None = None
