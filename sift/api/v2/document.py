"""What scraping one page and many share: Firecrawl's options, and its form of a page (contract: Scrape)."""

from __future__ import annotations

from typing import Any

GIVEN = ("markdown", "html")
"""The formats that Sift has; `markdown` is in every answer."""
MOST_AGE = 86_400
_NAMED = 5
"""Formats named at most in a warning."""


def document(
    *,
    markdown: str,
    html: str,
    title: str,
    description: str,
    language: str,
    asked: str,
    url: str,
    status: int,
    content_type: str,
    warnings: tuple[str, ...],
) -> dict[str, Any]:
    """Return a page in Firecrawl's form. Its models refuse null, so metadata are strings and numbers."""
    declared = {"description": description, "language": language}
    data: dict[str, Any] = {"markdown": markdown}
    if html:
        data["html"] = html
    data["metadata"] = {
        "title": title,
        **{name: value for name, value in declared.items() if value},
        "sourceURL": asked,
        "url": url,
        "statusCode": status,
        "contentType": content_type,
    }
    if warnings:
        data["warning"] = "; ".join(warnings)
    return data


def ignored(formats: object) -> tuple[str, ...]:
    """Return the warning that names the formats Sift does not have; none when it has all."""
    unknown = [each for each in names(formats) if each not in GIVEN][:_NAMED]
    return (f"formats ignored: {', '.join(unknown)}",) if unknown else ()


def names(formats: object) -> list[str]:
    """Return the names of formats, which are strings or objects with a `type`."""
    found = []
    for each in formats if isinstance(formats, list) else []:
        name = each.get("type") if isinstance(each, dict) else each
        if isinstance(name, str) and name.isprintable():
            found.append(name[:32])
    return list(dict.fromkeys(found))


def seconds(milliseconds: object, default: float, low: float, high: float) -> float:
    """Return seconds within bounds; the default for what is no number."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float):
        return default
    # Bounded before it is divided: JSON has integers that no float can hold.
    return min(max(milliseconds, low * 1000), high * 1000) / 1000
