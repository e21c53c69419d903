"""What a vendor's file exports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sift.config import SourceConfig, VendorSettings
from sift.search.protocols import Source


@dataclass(frozen=True, slots=True)
class Vendor:
    """A vendor: the settings it declares, and the factory of its source.

    make: takes the settings as read and the number of calls to expect at a time. probe: the module whose `probe` asks
    the vendor, at no cost, what is wrong with its settings; "" for none. A name, since a service never loads it.
    """

    settings: VendorSettings
    make: Callable[[SourceConfig, int], Source]
    probe: str = ""
