"""The vendors, one file each. A new one is a file here and a line in VENDORS (CONTRIBUTING.md says how)."""

from __future__ import annotations

from importlib import import_module

from sift.config import SourceConfig
from sift.search.protocols import Source
from sift.sources.vendor import Vendor

# Names rather than imports, so that a vendor is one line; and the demo looks for its stand-in under the same name.
VENDORS: dict[str, Vendor] = {
    module: import_module(f"{__name__}.{module}").VENDOR
    for module in (
        "searxng",
        "brave",
        "tavily",
    )
}
"""Every vendor by the name of its module, in the order answers name them."""

DECLARED = tuple(vendor.settings for vendor in VENDORS.values())
"""What each vendor lets an operator set, in the same order."""

_MAKERS = {vendor.settings.name: vendor.make for vendor in VENDORS.values()}


def build_source(config: SourceConfig, calls: int) -> Source:
    """Make the source of one vendor."""
    return _MAKERS[config.name](config, calls)
