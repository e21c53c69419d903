"""`make contract` as a test."""

from __future__ import annotations

import shutil

import pytest

from tests.contract.__main__ import main


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed (Debian: curl)")
def test_every_check_of_make_contract_holds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """contract: Callers, Search answer, Firecrawl door: envelopes, errors and statuses hold from outside."""
    monkeypatch.delenv("SIFT_URL", raising=False)
    assert main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "all hold"
    assert len(lines) > 60
