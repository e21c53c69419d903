"""Processes that use a store, for tests that stop and kill them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.store.engines import Engine

ROOT = Path(__file__).resolve().parents[2]
HEAD = """
import json, os, sys, threading, time
from sift.batch.model import Outcome
from sift.search.protocols import LedgerError
from tests.store.engines import NOON, Clock, open_jobs, open_ledger
kind, place, rest = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
lock = threading.Lock()
def say(*words):
    with lock:
        sys.stdout.write(json.dumps(words) + "\\n")
        sys.stdout.flush()
"""


def start(engine: Engine, code: str, **rest: Any) -> subprocess.Popen[str]:
    """Start a process that runs code after HEAD; `rest` is what the code finds under that name."""
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + code, engine.name, engine.place, json.dumps(rest)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
