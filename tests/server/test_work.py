"""`sift worker`: the start that is refused (contract: Batch work). What it does is in tests/real/test_batch_work.py."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.real.programs import SIFT

BASE = {"SIFT_DEMO": "on"}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"SIFT_BATCH_WORKERS": "many"}, "SIFT_BATCH_WORKERS"),
        ({"SIFT_FETCH": "off"}, "SIFT_FETCH"),
        ({"SIFT_STORE_URL": "redis://user:secret@h/0"}, "SIFT_STORE_URL"),
        ({"SIFT_DEMO": "off"}, "no source is set"),
    ],
)
def test_setting_is_wrong_one_line_names_it_and_the_command_ends_with_2(
    settings: dict[str, str], said: str, tmp_path: Path
) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **BASE, **settings}
    done = subprocess.run([SIFT, "worker"], env=environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert "secret" not in done.stderr
    assert [*tmp_path.iterdir()] == []
