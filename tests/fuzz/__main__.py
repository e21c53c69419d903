"""Run a service in a network namespace that has nothing but loopback, and schemathesis beside it.

Fails when an answer is not described by the document, is a 5xx that no page's fault explains, or when the service logs
a fault of its own. `FUZZ_EXAMPLES` and `FUZZ_SECONDS` bound the run. Needs `unshare` and `ip`; no root.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.service import ROOT, Service

CONFIG = Path(__file__).with_name("schemathesis.toml")
INSIDE = "--inside"


def enter() -> int:
    """Run this again where only loopback is; return its exit code."""
    script = 'ip link set lo up && exec "$@"'
    inside = ["sh", "-c", script, "sh", sys.executable, "-m", "tests.fuzz", INSIDE]
    return subprocess.run(["unshare", "--map-root-user", "--net", *inside], cwd=ROOT, check=False).returncode


def fuzz(directory: Path, examples: str, seconds: str) -> int:
    """Return the exit code: 0 when everything was as documented."""
    with Service(directory, {"SIFT_DEMO": "on", "SIFT_PAGE": "on", "SIFT_BATCH_WORKERS": "2"}) as service:
        command = [Path(sys.executable).with_name("schemathesis"), "--config-file", CONFIG, "run"]
        command += [f"{service.url}/openapi.json", "--max-examples", examples]
        command += ["--max-time", seconds, "--request-timeout", "60"]  # longer than any wait
        command += ["--generation-database", "none", "--no-color", "--continue-on-failure"]
        done = subprocess.run(command, cwd=directory, check=False).returncode
        faults = service.records("internal_error")
    for fault in faults:
        print(f"internal error: {fault['type']} at {fault['at']}")
    return done or bool(faults)


if __name__ == "__main__":
    if INSIDE not in sys.argv:
        sys.exit(enter())
    with tempfile.TemporaryDirectory() as place:
        sys.exit(fuzz(Path(place), os.environ.get("FUZZ_EXAMPLES", "30"), os.environ.get("FUZZ_SECONDS", "300")))
