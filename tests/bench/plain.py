"""The merge as one would write it straight from the contract: urllib.parse, a pass per duty, no second thoughts.

It is the yardstick of the merge row and the core of the reference service, and its answers must equal Sift's.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

_TAG = re.compile(r"<[^<>]*>")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
_TRACKERS = {
    *("gclid", "gbraid", "wbraid", "fbclid", "msclkid", "dclid"),
    *("yclid", "mc_cid", "mc_eid", "igshid", "_ga", "_gl"),
}


@dataclass(frozen=True)
class Hit:
    """Hold one hit, its texts cleaned."""

    url: str
    title: str
    snippet: str
    source: str
    score: float = 0.0
    published_date: str = ""


def clean(text: str) -> str:
    """Take tags and entities out, and fold white space."""
    return " ".join(html.unescape(_TAG.sub("", text)).split())


def canonical_url(url: str) -> str:
    """Give the form in which two spellings of a URL are one (contract: Canonical URLs)."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removesuffix(".")
    if not host.isascii():
        host = host.encode("idna").decode()
    if parts.port and parts.port != {"http": 80, "https": 443}[parts.scheme]:
        host = f"{host}:{parts.port}"
    path = _ESCAPE.sub(_one_form, parts.path).removesuffix("/")
    kept = [(name, value) for name, value in parse_qsl(parts.query, True) if not _is_tracker(name)]
    fragment = f"#{parts.fragment}" if parts.fragment.startswith(("/", "!")) else ""
    return f"{host}{path}?{urlencode(kept)}{fragment}"


def searxng_hits(body: dict[str, Any]) -> list[Hit]:
    """Read SearXNG's rows."""
    return [
        Hit(row["url"], clean(row["title"]), clean(row.get("content") or ""), "searxng",
            row.get("score") or 0.0, row.get("publishedDate") or "")
        for row in body["results"]
    ]  # fmt: skip


def brave_hits(body: dict[str, Any]) -> list[Hit]:
    """Read Brave's rows."""
    return [
        Hit(row["url"], clean(row["title"]), "\n\n".join(map(clean, row["snippets"])), "brave_llm")
        for row in body["grounding"]["generic"]
    ]


def tavily_hits(body: dict[str, Any]) -> list[Hit]:
    """Read Tavily's rows."""
    return [
        Hit(row["url"], clean(row["title"]), clean(row.get("content") or ""), "tavily",
            row.get("score") or 0.0, row.get("published_date") or "")
        for row in body["results"]
    ]  # fmt: skip


def merge(lists: Iterable[Sequence[Hit]]) -> list[Hit]:
    """Fold ranked lists into one by reciprocal rank: of the sources of a query, and again of several queries."""
    best: dict[str, Hit] = {}
    shares: dict[str, list[float]] = {}
    for hits in lists:
        seen = set()
        for hit in hits:
            key = canonical_url(hit.url)
            best[key] = _absorb(best[key], hit) if key in best else hit
            if key not in seen:
                seen.add(key)
                shares.setdefault(key, []).append(1 / (60 + len(seen)))
    fused = [replace(hit, score=math.fsum(shares[key])) for key, hit in best.items()]
    return sorted(fused, key=lambda hit: -hit.score)


def merge_queries(queries: Sequence[Sequence[Sequence[Hit]]], k: int) -> list[Hit]:
    """Merge each query's lists, then the merged lists, and cut."""
    merged = [merge(lists) for lists in queries]
    return (merged[0] if len(merged) == 1 else merge(merged))[:k]


def on_domain(host: str, domains: Sequence[str]) -> bool:
    """Tell whether a host is one of the domains or under one."""
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def _absorb(first: Hit, other: Hit) -> Hit:
    return replace(
        first,
        snippet=other.snippet if len(other.snippet) > len(first.snippet) else first.snippet,
        published_date=first.published_date or other.published_date,
    )


def _is_tracker(name: str) -> bool:
    return name.lower().startswith("utm_") or name.lower() in _TRACKERS


def _one_form(match: re.Match[str]) -> str:
    char = chr(int(match[1], 16))
    return char if char in _UNRESERVED else match[0].upper()
