"""Other programs' clients for tests: each in a Python process of its own, with the packages of one version."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.service import ROOT


class Client:
    """A process that calls a client: it gets a JSON object a line, and answers with one.

    The first line that it writes holds its `version`. path: where its packages are; None for those of the tests.
    """

    def __init__(self, driver: Path, path: Path | None = None, python: str = sys.executable) -> None:
        environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
        if path:
            environ["PYTHONPATH"] = str(path)
        self.process = subprocess.Popen(
            [python, str(driver)], env=environ, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.version = self._read()["version"]

    def call(self, **call: Any) -> dict[str, Any]:
        """Send a call and return what came of it."""
        assert self.process.stdin
        print(json.dumps(call), file=self.process.stdin, flush=True)
        return self._read()

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found


def installed(package: str, version: str) -> Path:
    """Return a directory that holds a version of a package, installed there once for all runs of one Python.

    Skips the test where that cannot be had.
    """
    path = ROOT / f".venv-{package}-{version}-{sys.implementation.cache_tag}"
    done = path / "installed"
    if not done.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--upgrade", "--target", str(path), f"{package}=={version}"]
        try:
            tried = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{package} {version} was not installed within five minutes")
        if tried.returncode:
            pytest.skip(f"{package} {version} cannot be installed: {tried.stderr.strip().splitlines()[-1]}")
        done.touch()
    return path
