"""The vendors, one file each. A new one is a file here and a line in SOURCES (CONTRIBUTING.md says how)."""

from __future__ import annotations

from collections.abc import Callable

from sift.config import SourceConfig
from sift.search.protocols import Source
from sift.sources.brave import Brave
from sift.sources.searxng import Searxng
from sift.sources.tavily import Tavily

SOURCES: dict[str, Callable[[SourceConfig, int], Source]] = {
    "searxng": Searxng.from_config,
    "brave_llm": Brave.from_config,
    "tavily": Tavily.from_config,
}
"""Every source by name, in the order answers name them.

A maker takes the vendor's settings and the number of calls to expect at a time.
"""


def build_source(config: SourceConfig, calls: int) -> Source:
    """Make the source of one vendor."""
    return SOURCES[config.name](config, calls)
