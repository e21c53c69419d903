"""Settings that do not go together, or not with the host (contract: Doctor)."""

from __future__ import annotations

from pathlib import Path

import pytest

from sift.config import Config, SourceConfig
from sift.doctor.surroundings import check_auth, check_files, points_at_sift

SOURCE = SourceConfig("searxng", "http://127.0.0.1:8888")
CONFIG = Config((SOURCE,), Path("/s"), Path("/s/keys.json"))


def with_bind(*bind: str, auth: bool = False) -> Config:
    return Config((SOURCE,), Path("/s"), Path("/s/keys.json"), bind=bind, auth=auth)


@pytest.mark.parametrize(("limit", "level"), [(20_000, "ok"), (200, "warn"), (34, "fail")])
def test_limit_of_open_files_is_compared_with_the_threads(limit: int, level: str) -> None:
    """contract: Doctor: the service has fewer threads, or does not start."""
    found = check_files(CONFIG, limit)
    assert (found.check, found.level) == ("files", level)
    assert ("LimitNOFILE" in found.cure) == (level != "ok")


@pytest.mark.parametrize(
    ("bind", "level"),
    [
        (("127.0.0.1:8787",), "warn"),
        (("localhost:8787", "[::1]:8787"), "warn"),
        (("unix:/run/sift.sock",), "warn"),
        (("0.0.0.0:8787",), "fail"),
        (("[::]:8787",), "fail"),
        (("127.0.0.1:8787", "192.0.2.1:8787"), "fail"),
        (("sift.example:8787",), "fail"),
    ],
)
def test_auth_off_fails_unless_every_bind_is_loopback(bind: tuple[str, ...], level: str) -> None:
    """contract: Doctor: auth off on 0.0.0.0: its cure is a key or loopback."""
    found = check_auth(with_bind(*bind))
    assert (found.check, found.level) == ("auth", level)
    assert "SIFT_AUTH=keys" in found.cure


def test_auth_on_is_fine_wherever_it_listens() -> None:
    """contract: Doctor: with keys any bind is one's own choice."""
    assert check_auth(with_bind("0.0.0.0:8787", auth=True)).level == "ok"


@pytest.mark.parametrize(
    ("url", "bind", "expected"),
    [
        ("http://127.0.0.1:8787", "127.0.0.1:8787", True),
        ("http://localhost:8787/searxng", "127.0.0.1:8787", True),
        ("http://[::1]:8787", "localhost:8787", True),
        ("http://127.0.0.1:8888", "127.0.0.1:8787", False),
        ("http://192.0.2.7:8787", "0.0.0.0:8787", True),
        ("http://192.0.2.8:8787", "0.0.0.0:8787", False),
        ("http://HERE:8787", "[::]:8787", True),
        ("http://there:8787", "[::]:8787", False),
        ("http://192.0.2.7:8787", "127.0.0.1:8787", False),
        ("http://searx.example", "searx.example:80", True),
        ("https://sift.example/x", "127.0.0.1:8787", True),
        ("http://127.0.0.1:8787", "unix:/run/sift.sock", False),
    ],
)
def test_source_at_the_address_of_sift_is_recognised(url: str, bind: str, expected: bool) -> None:
    """contract: Doctor: Sift would ask itself; the address is that of a bind, or of SIFT_URL."""
    source = SourceConfig("searxng", url)
    found = points_at_sift(
        source, (bind,), "https://sift.example", frozenset({"here"}), lambda address: address == "192.0.2.7"
    )
    assert found is expected
