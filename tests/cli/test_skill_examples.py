from __future__ import annotations

import re
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

SKILL = Path(__file__).parents[2] / "skill" / "SKILL.md"
BLOCKS = [
    textwrap.dedent(block) for block in re.findall(r"^ *```bash\n(.*?)^ *```", SKILL.read_text("utf-8"), re.S | re.M)
]


@pytest.mark.parametrize("block", BLOCKS)
def test_example_runs_as_written(block: str, environ: dict[str, str], service: Any, tmp_path: Path) -> None:
    """contract: Command line: an agent pastes these lines; each must work as it stands."""
    done = subprocess.run(
        ["bash", "-ec", block], env=environ, cwd=tmp_path, capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert service.asked


def test_product_news_example_asks_what_it_says(environ: dict[str, str], service: Any, tmp_path: Path) -> None:
    """contract: Command line: the Product News Tracker is an official domain, topic news and the last month."""
    subprocess.run(["bash", "-ec", BLOCKS[0]], env=environ, cwd=tmp_path, capture_output=True, check=True, timeout=60)
    body = service.body
    assert (body["include_domains"], body["topic"], body["time_range"]) == (["openai.com"], "news", "month")
