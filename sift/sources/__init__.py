"""The vendors, one file each. A new one is a file here and a line in VENDORS (CONTRIBUTING.md: Adding a vendor)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sift.config import SourceConfig
from sift.search.protocols import Source
from sift.sources.vendor import Vendor

if TYPE_CHECKING:
    from sift.sources.probes import Probe

# Names rather than imports, so that adding a vendor takes one line; the demo finds its stand-in under the same name.
VENDORS: dict[str, Vendor] = {
    module: import_module(f"{__name__}.{module}").VENDOR
    for module in (
        "searxng",
        "brave",
        "tavily",
    )
}
"""Every vendor by its module's name, in source order."""

DECLARED = tuple(vendor.settings for vendor in VENDORS.values())
"""The settings each vendor declares, in source order."""

_MAKERS = {vendor.settings.name: vendor.make for vendor in VENDORS.values()}


def build_source(config: SourceConfig, calls: int) -> Source:
    """Return a vendor's source, sized for `calls` calls at a time."""
    return _MAKERS[config.name](config, calls)


def probe_of(name: str) -> Probe | None:
    """Return what asks a source's vendor whether its settings are good, None if it has none. Loads it."""
    (module,) = (vendor.probe for vendor in VENDORS.values() if vendor.settings.name == name)
    found: Probe | None = import_module(module).probe if module else None
    return found
