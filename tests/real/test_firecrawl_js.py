"""Firecrawl's SDK for JavaScript against a running Sift, where Node is and npm can install it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.service import ROOT, Service

PACKAGE = "@mendable/firecrawl-js@4.42.0"
PAGE = "https://docs.python.org/3/library/textwrap.html"
DRIVER = """
import Firecrawl from "@mendable/firecrawl-js";
const client = new Firecrawl({ apiKey: "any", apiUrl: process.argv[2] });
for (const url of process.argv.slice(3)) {
  try {
    const page = await client.scrape(url, { formats: ["markdown", "html"], timeout: 5000 });
    console.log(JSON.stringify(page));
  } catch (error) {
    console.log(JSON.stringify({ message: error.message, status: error.status }));
  }
}
"""


@pytest.fixture(scope="module")
def driver() -> Path:
    """Return a script that uses the SDK, installed once for all runs."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("Node is not installed")
    path = ROOT / ".venv-firecrawl-js"
    done = path / "installed"
    if not done.exists():
        path.mkdir(exist_ok=True)
        command = [npm, "install", "--prefix", str(path), "--no-audit", "--no-fund", "--silent", PACKAGE]
        try:
            tried = subprocess.run(command, capture_output=True, check=False, timeout=60)
        except subprocess.TimeoutExpired:
            pytest.skip(f"{PACKAGE} cannot be installed: npm does not end")
        if tried.returncode:
            pytest.skip(f"{PACKAGE} cannot be installed")
        done.touch()
    script = path / "driver.mjs"
    script.write_text(DRIVER)
    return script


def test_scrape_of_the_sdk_gets_the_page_and_asks_once_for_one_that_is_refused(driver: Path, tmp_path: Path) -> None:
    """contract: Scrape: the page in Firecrawl's form; a refused URL is a 400, which is not repeated."""
    with Service(tmp_path, {"SIFT_DEMO": "on"}) as service:
        command = ["node", str(driver), service.url, PAGE, "http://127.0.0.1/", "http://8.8.8.8:81/", "http://[::1"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        records = service.records("fetch")
    page, *refused = map(json.loads, done.stdout.splitlines())
    assert "TextWrapper" in page.get("markdown", ""), page
    assert "<h1>" in page["html"]
    assert (page["metadata"]["sourceURL"], page["metadata"]["statusCode"]) == (PAGE, 200)
    assert refused == [{"message": "url not allowed", "status": 400}] * 3
    assert len(records) == 4
