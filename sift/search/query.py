"""Rules for a single query, shared by v1, v2 and the cache key."""

from __future__ import annotations

import re
import unicodedata

from sift.errors import InvalidQueryError
from sift.search.fields import MAX_QUERY

_UNFIT = re.compile("[\x00\ud800-\udfff]")  # NUL and lone surrogates cannot be sent


def clean_query(value: object) -> str:
    """Return a query without surrounding white space (contract: Queries). Raises InvalidQueryError."""
    if not isinstance(value, str):
        raise InvalidQueryError
    query = value.strip()
    if not query or len(query) > MAX_QUERY or _UNFIT.search(query):
        raise InvalidQueryError
    return query


def normalise_query(query: str) -> str:
    """Return a query's normal form: NFC, white space folded, case kept (contract: Queries)."""
    return " ".join(unicodedata.normalize("NFC", query).split())


def has_phrase(query: str) -> bool:
    """Whether a query holds a quoted phrase and no unpaired quote (contract: Queries)."""
    pieces = query.split('"')
    return len(pieces) % 2 == 1 and any(pieces[1::2])
