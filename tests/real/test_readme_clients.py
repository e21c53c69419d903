"""The README's blocks for Hermes, Firecrawl's SDK and Open WebUI, as they are printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import yaml

from tests.real.conftest import Running
from tests.real.programs import bearer, readme_block
from tests.service import Service

HOST = "https://sift.example"


def variables(block: str) -> dict[str, str]:
    """Return the variables that a block sets."""
    return dict(re.findall(r"^([A-Z_]+)=(.*)$", block, re.MULTILINE))


def test_firecrawl_block_works_as_printed(tmp_path: Path) -> None:
    """README, Firecrawl's SDKs: a search, a page and a batch; address and key are all that is replaced."""
    with Service(tmp_path, {"SIFT_DEMO": "on"}) as service:
        block = readme_block("python", "from firecrawl import").replace(HOST, service.url).replace("sift_…", "any")
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", block], env=environ, capture_output=True, text=True, check=False, timeout=120
        )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert sum("https://docs.python.org/" in line for line in lines[:5]) == 5
    assert sum(line.endswith("- Python documentation") for line in lines) >= 5


def test_hermes_blocks_name_what_the_service_answers(running: Running) -> None:
    """README, Use with Hermes: the SDK adds its paths to the address; both tools use it."""
    found = variables(readme_block("bash", "FIRECRAWL_API_URL="))
    assert found == {"FIRECRAWL_API_URL": HOST, "FIRECRAWL_API_KEY": "sift_…"}
    for path, body in (("/v2/search", {"query": "words"}), ("/v2/scrape", {"url": "http://127.0.0.1/"})):
        reply = running.service.post(path, body, bearer(running.tokens.restricted))
        assert reply.status in (200, 400)
        assert "success" in reply.json()
    settings = yaml.safe_load(readme_block("yaml", "search_backend:"))["web"]
    assert settings == {"search_backend": "firecrawl", "extract_backend": "firecrawl", "keyless_rescue": False}


def test_open_webui_block_for_perplexity_names_what_the_service_answers(running: Running) -> None:
    """README, Use with Open WebUI and LiteLLM: what that client sends, and what it reads."""
    found = variables(readme_block("bash", "WEB_SEARCH_ENGINE=perplexity_search"))
    path = found["PERPLEXITY_SEARCH_API_URL"].removeprefix(HOST)
    body = {"query": "for open webui", "max_results": 1, "search_domain_filter": []}
    answer = running.service.post(path, body, running.fleet).json()
    assert len(answer["results"]) == 1
    assert {"title", "url", "snippet"} <= answer["results"][0].keys()
    assert any("search_domain_filter" in each for each in answer["warnings"])
