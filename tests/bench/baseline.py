"""The merge written directly from the contract: urllib.parse, one pass per duty, no optimisation.

It is the baseline of the merge row and the core of the reference service; its results must equal Sift's.
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
    """A hit with cleaned texts."""

    url: str
    title: str
    snippet: str
    source: str
    score: float = 0.0
    published_date: str = ""


def clean(text: str) -> str:
    """Return a text without tags and entities, its white space folded."""
    return " ".join(html.unescape(_TAG.sub("", text)).split())


def canonical_url(url: str) -> str:
    """Return the key that all spellings of a URL share (contract: Canonical URLs)."""
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
    """Return the hits of SearXNG's rows."""
    return [
        Hit(row["url"], clean(row["title"]), clean(row.get("content") or ""), "searxng",
            row.get("score") or 0.0, row.get("publishedDate") or "")
        for row in body["results"]
    ]  # fmt: skip


def brave_hits(body: dict[str, Any]) -> list[Hit]:
    """Return the hits of Brave's rows."""
    return [
        Hit(row["url"], clean(row["title"]), "\n\n".join(map(clean, row["snippets"])), "brave_llm")
        for row in body["grounding"]["generic"]
    ]


def tavily_hits(body: dict[str, Any]) -> list[Hit]:
    """Return the hits of Tavily's rows."""
    return [
        Hit(row["url"], clean(row["title"]), clean(row.get("content") or ""), "tavily",
            row.get("score") or 0.0, row.get("published_date") or "")
        for row in body["results"]
    ]  # fmt: skip


def merge(lists: Iterable[Sequence[Hit]]) -> list[Hit]:
    """Fuse ranked lists by reciprocal rank: those of the sources of a query, then those of several queries."""
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
    """Merge each query's lists, then the merged lists, and cut to `k`."""
    merged = [merge(lists) for lists in queries]
    return (merged[0] if len(merged) == 1 else merge(merged))[:k]


def on_domain(host: str, domains: Sequence[str]) -> bool:
    """Whether a host is one of the domains or a subdomain of one."""
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
