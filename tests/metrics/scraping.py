"""Reading a scrape, and the program that judges one."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="no promtool (Debian: prometheus)")


def samples(body: bytes) -> Samples:
    """Return the samples of a scrape by name and labels; no two are alike."""
    found = [
        ((sample.name, frozenset(sample.labels.items())), sample.value)
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    ]
    assert len(dict(found)) == len(found)
    return dict(found)


def value(body: bytes, name: str, **labels: str) -> float:
    """Return one sample of a scrape."""
    return samples(body)[name, frozenset(labels.items())]


def total(body: bytes, name: str, **labels: str) -> float:
    """Return the sum of the samples of a name that have these labels."""
    return sum(
        number for (each, having), number in samples(body).items() if each == name and labels.items() <= set(having)
    )


def check(*arguments: str, stdin: bytes = b"") -> tuple[int, bytes]:
    """Run promtool; return its exit code and what it says."""
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, "check", *arguments], input=stdin, capture_output=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr
