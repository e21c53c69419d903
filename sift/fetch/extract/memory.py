"""Whether this process has come to the end of its address space, which its libraries may have hidden."""

from __future__ import annotations

import re
import resource
from pathlib import Path

_NEARLY = 0.85  # what failed to be allocated is not in the peak
_PEAK = re.compile(r"^VmPeak:\s*(\d+) kB$", re.MULTILINE | re.ASCII)


def was_used_up() -> bool:
    """Return whether the process has had nearly all that it may have; False where the system does not tell."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    try:
        peak = _PEAK.search(Path("/proc/self/status").read_text())
    except OSError:
        return False
    return most != resource.RLIM_INFINITY and peak is not None and int(peak[1]) << 10 > _NEARLY * most
