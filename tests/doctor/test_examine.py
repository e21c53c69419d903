"""The whole examination (contract: Doctor)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sift.doctor.examine import Surroundings, examine
from sift.findings import Finding, ok

NOW = datetime(2026, 9, 29, tzinfo=UTC)


class Around:
    """A service that tells where it was looked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []

    def service(self, bound: str | None) -> list[Finding]:
        self.asked.append(("service", bound))
        return [ok("service", "there")]

    def search(self, bound: str | None) -> list[Finding]:
        self.asked.append(("search", bound))
        raise ValueError("zebra")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"SIFT_STATE_DIR": str(tmp_path), "SIFT_DEMO": "on", "SIFT_AUTH": "off"}


def checks(
    environ: dict[str, str],
    service: Callable[[str | None], list[Finding]],
    search: Callable[[str | None], list[Finding]] | None = None,
    seconds: float = 20,
) -> list[tuple[str, str]]:
    found = examine(environ, Surroundings(service, search, NOW, "here.example", seconds))
    return [(each.check, each.what) for each in found]


def test_checks_come_in_the_order_of_what_depends_on_what(environ: dict[str, str]) -> None:
    """contract: Doctor: settings first; the demo's vendors are not asked."""
    around = Around()
    found = checks(environ, around.service)
    assert [check for check, _ in found] == ["settings", "state", "ledger", "files", "auth", "service"]
    assert around.asked == [("service", "http://127.0.0.1:8787")]


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        ({"SIFT_BIND": "0.0.0.0:99"}, "http://127.0.0.1:99"),
        ({"SIFT_BIND": "unix:/s, [::]:99"}, "http://[::1]:99"),
        ({"SIFT_BIND": "192.0.2.1:99"}, "http://192.0.2.1:99"),
        ({"SIFT_BIND": "unix:/s"}, ""),
        ({"SIFT_URL": "http://x:1"}, None),
    ],
)
def test_service_is_looked_for_where_it_listens(
    environ: dict[str, str], changes: dict[str, str], bound: str | None
) -> None:
    """contract: Doctor: at SIFT_URL, else where SIFT_BIND says; the search goes there, too."""
    around = Around()
    found = checks(environ | changes, around.service, around.search)
    assert around.asked == [("service", bound), ("search", bound)]
    assert found[-1] == ("search", "this check broke: ValueError")


def test_service_that_hangs_is_bounded(environ: dict[str, str]) -> None:
    """contract: Doctor: nobody holds up the rest."""
    ends = threading.Event()

    def hang(_: str | None) -> list[Finding]:
        ends.wait(60)
        return []

    found = checks(environ, hang, seconds=0.05)
    ends.set()
    assert found[-1] == ("service", "no answer within 0.05 s")


def test_missing_state_directory_of_roots_is_nobodys_yet(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """contract: Doctor: root may make it for another, so no cure names root."""
    monkeypatch.setattr("os.geteuid", lambda: 0)
    found = list(
        examine(
            environ | {"SIFT_STATE_DIR": str(tmp_path / "none"), "SIFT_AUTH": "keys"},
            Surroundings(Around().service, None, NOW, "here"),
        )
    )
    cures = {each.check: each.cure for each in found}
    assert cures["state"] == f"install -d -m 700 -o USER {tmp_path / 'none'}"
    assert cures["keys"].startswith("as user USER: sift key new")


@pytest.mark.parametrize(
    ("url", "cure"),
    [("postgresql://%zz", "correct the server, or name another in SIFT_STORE_URL")],
)
def test_store_that_cannot_be_one_fails_without_its_address(environ: dict[str, str], url: str, cure: str) -> None:
    """contract: Doctor, Store: as a start would refuse it; credits are then no files', so no ledger is looked at."""
    pytest.importorskip("psycopg")
    around = Surroundings(Around().service, None, NOW, "here")
    found = [each for each in examine(environ | {"SIFT_STORE_URL": url}, around) if each.check in ("store", "ledger")]
    assert [(each.level, each.check, each.cure) for each in found] == [("fail", "store", cure)]
    assert "zz" not in str(found)
