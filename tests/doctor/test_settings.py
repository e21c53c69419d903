"""Every wrong setting (contract: Doctor, Settings)."""

from __future__ import annotations

import pytest

from sift.doctor.settings import Settings, read_settings
from sift.sources import DECLARED

SOUND = {"HOME": "/home/x", "SIFT_SEARXNG_URL": "http://127.0.0.1:8888"}


def read(**changes: str) -> Settings:
    return read_settings(SOUND | changes, DECLARED)


def lines(found: Settings, level: str) -> list[str]:
    return [f"{each.check}: {each.what}; {each.cure}" for each in found.found if each.level == level]


def test_sound_settings_are_one_line_that_names_the_sources() -> None:
    """contract: Doctor: what is well is said, too."""
    (only,) = read().found
    assert only == ("ok", "settings", "all are good; 1 source: searxng", "")


def test_wrong_settings_are_each_named() -> None:
    """contract: Doctor: a start ends at the first wrong setting; the doctor names them all, and no value."""
    found = read(SIFT_THREADS="zebra", SIFT_CACHE_TTL="-1", SIFT_TAVILY_API_KEY="ze bra", SIFT_BIND="zebra")
    failed = lines(found, "fail")
    for name in ("SIFT_THREADS", "SIFT_CACHE_TTL", "SIFT_TAVILY_API_KEY", "SIFT_BIND"):
        assert len([line for line in failed if line.startswith(f"settings: {name} ")]) == 1
    assert len(failed) == 4
    assert "correct it, or leave it out for its default, 64" in "".join(failed)
    assert "zebra" not in str(found.found)
    assert "ze bra" not in str(found.found)


def test_wrong_settings_leave_the_others_as_they_are() -> None:
    """contract: Doctor: what depends on good settings is still looked at."""
    found = read(SIFT_THREADS="many", SIFT_BIND="127.0.0.1:9999")
    assert (found.config.threads, found.config.bind) == (64, ("127.0.0.1:9999",))
    assert [source.name for source in found.config.sources] == ["searxng"]
    assert found.found[-1].what == "the others are good; 1 source: searxng"


def test_unknown_setting_is_named_with_the_likely_one() -> None:
    """contract: Doctor: a misspelt variable changes nothing, which nobody notices."""
    assert lines(read(SIFT_TREADS="3", SIFT_ZEBRA="1"), "warn") == [
        "settings: SIFT_TREADS is no setting, and changes nothing; did you mean SIFT_THREADS?",
        "settings: SIFT_ZEBRA is no setting, and changes nothing; take it out",
    ]


def test_no_source_fails_and_names_what_sets_one() -> None:
    """contract: Doctor: the service would not start."""
    found = read(SIFT_SEARXNG_URL="")
    assert lines(found, "fail") == [
        "settings: no source is set; set SIFT_SEARXNG_URL, SIFT_BRAVE_API_KEY or SIFT_TAVILY_API_KEY (or SIFT_DEMO=on)"
    ]
    assert (found.config.sources, found.config.demo) == ((), False)


def test_only_source_with_a_wrong_setting_leaves_none() -> None:
    """contract: Doctor: both are said: that the address is wrong, and that no other source is on."""
    failed = lines(read(SIFT_SEARXNG_URL="ftp://zebra"), "fail")
    assert [line.split()[1] for line in failed] == ["SIFT_SEARXNG_URL", "no"]


def test_user_without_a_home_needs_a_state_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: Doctor: no state directory: its cure is a setting, and nothing is looked for elsewhere."""
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("os.getuid", lambda: 4_242_424)
    found = read(HOME="")
    assert lines(found, "fail") == [
        "state: no state directory is set, and this user has no home directory;"
        " SIFT_STATE_DIR must be set, to a directory for Sift alone"
    ]
    assert not found.has_state


@pytest.mark.parametrize("setting", ["on", "auto"])
def test_demo_is_a_warning(setting: str) -> None:
    """contract: Doctor: the demo is no search of the web."""
    found = read_settings({"HOME": "/", "SIFT_DEMO": setting}, DECLARED)
    assert [each.level for each in found.found] == ["warn"]
    assert found.config.demo


@pytest.mark.parametrize(("value", "levels"), [("0", ["fail", "ok"]), ("two", ["fail", "ok"]), ("auto", ["ok"])])
def test_number_of_workers_is_checked(value: str, levels: list[str]) -> None:
    """contract: Doctor: WEB_CONCURRENCY is gunicorn's own, and ends a start as well."""
    assert [each.level for each in read(WEB_CONCURRENCY=value).found] == levels


def test_client_variables_are_known() -> None:
    """contract: Doctor: the environment may hold what the command reads."""
    assert [each.level for each in read(SIFT_URL="http://x", SIFT_TOKEN="t").found] == ["ok"]
