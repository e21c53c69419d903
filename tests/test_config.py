"""Every setting, read once from the environment (contract: Settings)."""

from __future__ import annotations

import os
import pwd
import re
from dataclasses import FrozenInstanceError
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

import sift.config
from sift.config import (
    CLIENT_VARIABLES,
    LOG_LEVELS,
    Config,
    VendorSettings,
    all_settings,
    keys_file,
    state_dir,
    unknown_variables,
)
from sift.config import SETTINGS as SERVICE
from sift.errors import ConfigError
from sift.sources import VENDORS

DECLARED = tuple(VENDORS[module].settings for module in ("searxng", "brave", "tavily"))
"""The vendors of the first version, whose variables must not change; tests/sources/test_settings.py covers all."""
SETTINGS = all_settings(DECLARED)
BASE = {"SIFT_SEARXNG_URL": "http://searx.example", "HOME": "/homes/someone"}
ALL = BASE | {"SIFT_BRAVE_API_KEY": "brave-key", "SIFT_TAVILY_API_KEY": "tavily-key"}


def read(**environ: str) -> Config:
    """Read settings that enable all three sources, plus those given."""
    return Config.from_env(ALL | environ, DECLARED)


def value(config: Config, name: str) -> Any:
    """Return the value that was read from a variable."""
    searxng, brave, tavily = config.sources
    return {
        "SIFT_SEARXNG_URL": searxng.url,
        "SIFT_BRAVE_API_KEY": brave.key,
        "SIFT_BRAVE_URL": brave.url,
        "SIFT_TAVILY_API_KEY": tavily.key,
        "SIFT_TAVILY_URL": tavily.url,
        "SIFT_TAVILY_DAILY_CAP": tavily.daily_cap,
        "SIFT_TAVILY_RERANK": tavily.rerank,
        "SIFT_SEARXNG_TIMEOUT": searxng.timeout,
        "SIFT_BRAVE_TIMEOUT": brave.timeout,
        "SIFT_TAVILY_TIMEOUT": tavily.timeout,
        "SIFT_CACHE_TTL": config.cache_ttl,
        "SIFT_CACHE_ENTRIES": config.cache_entries,
        "SIFT_STATE_DIR": config.state_dir,
        "SIFT_STORE_URL": config.store_url,
        "SIFT_STORE_TIMEOUT": config.store_timeout,
        "SIFT_KEYS_FILE": config.keys_file,
        "SIFT_AUTH": config.auth,
        "SIFT_DEMO": config.demo,
        "SIFT_THREADS": config.threads,
        "SIFT_BIND": config.bind,
        "SIFT_CPU_AFFINITY": config.cpu_affinity,
        "SIFT_BREAKER_FAILURES": config.breaker_failures,
        "SIFT_BREAKER_SECONDS": config.breaker_seconds,
        "SIFT_FETCH": config.fetch.enabled,
        "SIFT_FETCH_PLACES": config.fetch.places,
        "SIFT_FETCH_PORTS": config.fetch.ports,
        "SIFT_FETCH_DENY": config.fetch.deny,
        "SIFT_ROBOTS": config.fetch.robots,
        "SIFT_BATCH_WORKERS": config.batch_workers,
        "SIFT_METRICS": config.metrics,
        "SIFT_PAGE": config.page,
        "SIFT_CONTACT": config.fetch.contact,
        "SIFT_PUBLIC_URL": config.public_url,
        "SIFT_LOG_LEVEL": config.log_level,
    }[name]


DEFAULTS = {
    "SIFT_SEARXNG_URL": "http://searx.example",
    "SIFT_BRAVE_API_KEY": "brave-key",
    "SIFT_BRAVE_URL": "https://api.search.brave.com/res/v1/llm/context",
    "SIFT_TAVILY_API_KEY": "tavily-key",
    "SIFT_TAVILY_URL": "https://api.tavily.com/search",
    "SIFT_TAVILY_DAILY_CAP": 30,
    "SIFT_TAVILY_RERANK": True,
    "SIFT_SEARXNG_TIMEOUT": 8.0,
    "SIFT_BRAVE_TIMEOUT": 8.0,
    "SIFT_TAVILY_TIMEOUT": 8.0,
    "SIFT_CACHE_TTL": 3600.0,
    "SIFT_CACHE_ENTRIES": 2048,
    "SIFT_STATE_DIR": Path("/homes/someone/.local/state/sift"),
    "SIFT_STORE_URL": "",
    "SIFT_STORE_TIMEOUT": 1.0,
    "SIFT_KEYS_FILE": Path("/homes/someone/.local/state/sift/keys.json"),
    "SIFT_AUTH": True,
    "SIFT_DEMO": False,
    "SIFT_THREADS": 64,
    "SIFT_BIND": ("127.0.0.1:8787",),
    "SIFT_CPU_AFFINITY": True,
    "SIFT_BREAKER_FAILURES": 5,
    "SIFT_BREAKER_SECONDS": 30.0,
    "SIFT_FETCH": True,
    "SIFT_FETCH_PLACES": 16,
    "SIFT_FETCH_PORTS": frozenset(),
    "SIFT_FETCH_DENY": (),
    "SIFT_ROBOTS": "all",
    "SIFT_BATCH_WORKERS": 8,
    "SIFT_CONTACT": "",
    "SIFT_PUBLIC_URL": "",
    "SIFT_METRICS": True,
    "SIFT_PAGE": False,
    "SIFT_LOG_LEVEL": "info",
}
TIMEOUTS = ("SIFT_SEARXNG_TIMEOUT", "SIFT_BRAVE_TIMEOUT", "SIFT_TAVILY_TIMEOUT")
URLS = ("SIFT_SEARXNG_URL", "SIFT_BRAVE_URL", "SIFT_TAVILY_URL")
KEYS = ("SIFT_BRAVE_API_KEY", "SIFT_TAVILY_API_KEY")

GOOD: list[tuple[str, str, Any]] = [
    *[("SIFT_SEARXNG_TIMEOUT", text, float(text)) for text in ("0.1", "10", "1e0")],
    *[(name, "2.5", 2.5) for name in TIMEOUTS[1:]],
    *[
        ("SIFT_SEARXNG_URL", text, text)
        for text in ("http://127.0.0.1:8080", "http://[::1]:99/x", "HTTP://H.example", "http://h")
    ],
    *[(name, "https://h.example/a/b?c=d", "https://h.example/a/b?c=d") for name in URLS[1:]],
    *[(name, "tvly-AZ09_-.~+/=!#", "tvly-AZ09_-.~+/=!#") for name in KEYS],
    ("SIFT_TAVILY_DAILY_CAP", "0", 0),
    ("SIFT_TAVILY_DAILY_CAP", "1000", 1000),
    ("SIFT_TAVILY_RERANK", "false", False),
    ("SIFT_TAVILY_RERANK", "TRUE", True),
    ("SIFT_CACHE_TTL", "0", 0.0),
    ("SIFT_CACHE_TTL", "90.5", 90.5),
    ("SIFT_CACHE_ENTRIES", "1", 1),
    ("SIFT_STATE_DIR", "/var/lib/sift", Path("/var/lib/sift")),
    ("SIFT_STATE_DIR", "relative", Path("relative")),
    *[
        ("SIFT_STORE_URL", text, text)
        for text in ("postgresql://sift@h/sift", "postgres://h", "POSTGRESQL:///sift?host=/run/postgresql")
    ],
    *[("SIFT_STORE_TIMEOUT", text, float(text)) for text in ("0.1", "10")],
    ("SIFT_KEYS_FILE", "/etc/sift/keys.json", Path("/etc/sift/keys.json")),
    ("SIFT_AUTH", "off", False),
    ("SIFT_AUTH", "Keys", True),
    ("SIFT_DEMO", "on", True),
    ("SIFT_DEMO", "auto", False),  # a source is set
    ("SIFT_THREADS", "1", 1),
    ("SIFT_THREADS", "256", 256),
    ("SIFT_BIND", "[::1]:80", ("[::1]:80",)),
    ("SIFT_BIND", "localhost:0, unix:/run/sift.sock", ("localhost:0", "unix:/run/sift.sock")),
    ("SIFT_CPU_AFFINITY", "off", False),
    ("SIFT_METRICS", "off", False),
    ("SIFT_PAGE", "on", True),
    ("SIFT_BREAKER_FAILURES", "0", 0),
    ("SIFT_BREAKER_SECONDS", "0.5", 0.5),
    ("SIFT_FETCH", "off", False),
    ("SIFT_FETCH_PLACES", "1", 1),
    ("SIFT_FETCH_PORTS", "8443", frozenset({8443})),
    ("SIFT_FETCH_PORTS", "1, 65535", frozenset({1, 65535})),
    ("SIFT_FETCH_DENY", "8.8.8.8", (ip_network("8.8.8.8"),)),
    ("SIFT_FETCH_DENY", "8.8.0.0/16, 2a00::/12", (ip_network("8.8.0.0/16"), ip_network("2a00::/12"))),
    ("SIFT_ROBOTS", "batch", "batch"),
    ("SIFT_ROBOTS", "off", "off"),
    ("SIFT_BATCH_WORKERS", "0", 0),
    ("SIFT_BATCH_WORKERS", "64", 64),
    ("SIFT_CONTACT", "https://a.example/bot", "https://a.example/bot"),
    ("SIFT_PUBLIC_URL", "https://sift.example", "https://sift.example"),
    ("SIFT_PUBLIC_URL", "http://[::1]:8787/", "http://[::1]:8787"),
    *[("SIFT_LOG_LEVEL", level.upper(), level) for level in ("debug", "info", "warning", "error", "critical")],
]

NOT_WHOLE = ("x", "-1", "+5", "1.0", "1_0", "\u0667", "\u00b2", "0x10", "1e3", "9" * 13, "9" * 5000, "5 5")
NOT_NUMBERS = ("x", "nan", "inf", "-inf", "1e999", "-1", "1_0", "\u0667", "\uff18", "1,5", "0x1", "8s")
UNFIT = (" ", "\n", "\r\n", "\x00", "\t", "\x1b", "\x7f", "\u00fc", "\u00a0", "\u2028", "\udce9")
BAD: list[tuple[str, str]] = [
    ("SIFT_FETCH", "no"),
    ("SIFT_ROBOTS", "on"),
    ("SIFT_BATCH_WORKERS", "-1"),
    ("SIFT_BATCH_WORKERS", "65"),
    ("SIFT_BATCH_WORKERS", "8.5"),
    *[("SIFT_FETCH_PLACES", text) for text in (*NOT_WHOLE, "0", "1025")],
    *[("SIFT_FETCH_PORTS", text) for text in ("x", "0", "65536", "80,", "80 81", "-1", "\u0667", "9" * 50)],
    *[("SIFT_FETCH_DENY", text) for text in ("x", "8.8.8.8/8", "8.8.8.8,", "host.example", "8.8.8")],
    *[("SIFT_CONTACT", f"a{unfit}b") for unfit in ("\n", "\x00", "\u00fc", "(", ")", "\\")],
    *[
        ("SIFT_PUBLIC_URL", text)
        for text in (
            "sift.example",
            "ftp://h",
            "https://h/v2",
            "https://h//",
            "https://h?x",
            "https://u@h",
            "https://h#x",
        )
    ],
    *[("SIFT_STORE_URL", text) for text in ("h", "sqlite:///x", "postgresql:h", "mysql://h", "postgresql://h/\nx")],
    *[("SIFT_STORE_URL", f"{scheme}://h:6379/0") for scheme in ("redis", "rediss", "valkey")],
    *[("SIFT_STORE_TIMEOUT", text) for text in ("x", "0", "10.1")],
    ("SIFT_SEARXNG_URL", "http://h.example/?language=en"),  # `/search` is appended to it
    *[("SIFT_SEARXNG_TIMEOUT", text) for text in (*NOT_NUMBERS, "0", "0.09", "10.01", "1000")],
    *[(name, text) for name in TIMEOUTS[1:] for text in ("0.09", "10.01")],
    *[(name, "ftp://searx.example") for name in URLS[1:]],
    *[
        ("SIFT_SEARXNG_URL", text)
        for text in (
            "searx.example",
            "ftp://searx.example",
            "http://",
            "http://:80",
            "http://h:0",
            "http://h:65536",
            "http://h:port",
            "http://user:word@h",
            "http://h/#",
            "http://h/a b",
            "http://h\\@other",
            "http://h/\tx",
            "http://m\u00fcnchen.example",
            "http://[::1",
            "http://h/\x7f",
            "http://a%b",
            "http://a..b",
            "http://a,b",
            f"http://{'a' * 64}.example",
            f"http://{'a.' * 128}example",
            "http://[fe80::1%25eth0]:8080",
            "http://[fe80::1%eth0]",
            "http://[::1]x:80",
            "http://[v1.a]",
        )
    ],
    *[("SIFT_TAVILY_API_KEY", f"ab{inside}cd") for inside in UNFIT],
    ("SIFT_BRAVE_API_KEY", "ab cd"),
    *[("SIFT_TAVILY_DAILY_CAP", text) for text in (*NOT_WHOLE, "1000000001")],
    *[("SIFT_CACHE_ENTRIES", text) for text in ("x", "0", "10000001")],
    *[("SIFT_THREADS", text) for text in ("x", "0", "4097")],
    *[("SIFT_BREAKER_FAILURES", text) for text in ("x", "1000001")],
    *[("SIFT_CACHE_TTL", text) for text in ("x", "-1", "31536001")],
    *[("SIFT_BREAKER_SECONDS", text) for text in ("x", "0", "86401")],
    *[("SIFT_TAVILY_RERANK", text) for text in ("yes", "1")],
    *[("SIFT_AUTH", text) for text in ("on", "key")],
    *[("SIFT_DEMO", text) for text in ("yes", "1")],
    *[("SIFT_BIND", text) for text in ("8787", ":8787", "h:", "h:65536", "h:-1", "a:1:2", "::1:80", "[::1]", "h:1,")],
    ("SIFT_BIND", "h:1,unix:"),
    *[("SIFT_CPU_AFFINITY", text) for text in ("on", "0-1")],
    *[(name, text) for name in ("SIFT_METRICS", "SIFT_PAGE") for text in ("auto", "1")],
    *[("SIFT_LOG_LEVEL", text) for text in ("verbose", "20")],
]


def test_defaults_are_those_of_the_table() -> None:
    """contract: Settings: the table's column of defaults."""
    config = read()
    assert {name: value(config, name) for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize(("name", "text", "meant"), GOOD)
def test_value_is_good_it_is_read(name: str, text: str, meant: Any) -> None:
    """contract: Settings: a valid value is used, surrounded by blanks or not, and changes no other setting."""
    for spelled in (text, f"  {text}\n"):
        config = read(**{name: spelled})
        others = DEFAULTS | ({"SIFT_KEYS_FILE": Path(text) / "keys.json"} if name == "SIFT_STATE_DIR" else {})
        assert {other: value(config, other) for other in DEFAULTS} == others | {name: meant}
        assert type(value(config, name)) is type(DEFAULTS[name])


@pytest.mark.parametrize(("name", "text"), BAD)
def test_value_is_bad_one_line_names_the_variable(name: str, text: str) -> None:
    """contract: Settings: a bad value stops the start with one line that names the variable and hides the value."""
    with pytest.raises(ConfigError) as raised:
        read(**{name: text})
    said = str(raised.value)
    assert said.startswith(f"{name} ")
    assert "\n" not in said
    assert text not in said.removeprefix(name) or len(text) < 4
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("blank", ["", " ", "\t \n"])
def test_value_is_blank_it_is_unset(blank: str) -> None:
    """contract: Settings: a variable that is set but blank counts as unset."""
    assert Config.from_env(
        BASE | {setting.name: blank for setting in SETTINGS if setting.name not in BASE}, DECLARED
    ) == (Config.from_env(BASE, DECLARED))
    with pytest.raises(ConfigError, match=r"^no source"):
        Config.from_env(
            {"SIFT_SEARXNG_URL": blank, "SIFT_BRAVE_API_KEY": blank, "SIFT_TAVILY_API_KEY": blank}, DECLARED
        )


# Names


def test_variable_is_unknown_the_likely_one_is_named() -> None:
    """contract: Settings: a typing error in a name is no silent default."""
    environ = {
        *("SIFT_TAVILY_DAILYCAP", "SIFT_TAVILY_DAILY_CAP", "sift_threads", "SIFT_SEARX_URL", "SIFT_XYZZY"),
        *("SIFT_URL", "SIFT_TOKEN", "_SIFT_COMPLETE", "SIFTED", "PATH"),
    }
    assert unknown_variables(environ, DECLARED) == {
        "SIFT_TAVILY_DAILYCAP": "SIFT_TAVILY_DAILY_CAP",
        "sift_threads": "SIFT_THREADS",
        "SIFT_SEARX_URL": "SIFT_SEARXNG_URL",
        "SIFT_XYZZY": "",
    }


# Sources


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({"SIFT_SEARXNG_URL": "http://h"}, ["searxng"]),
        ({"SIFT_BRAVE_API_KEY": "k"}, ["brave_llm"]),
        ({"SIFT_TAVILY_API_KEY": "k"}, ["tavily"]),
        ({"SIFT_TAVILY_API_KEY": "k", "SIFT_SEARXNG_URL": "http://h"}, ["searxng", "tavily"]),
        (ALL, ["searxng", "brave_llm", "tavily"]),
        ({"SIFT_DEMO": "on"}, ["searxng", "brave_llm", "tavily"]),
        ({"SIFT_DEMO": "on", "SIFT_BRAVE_API_KEY": "k"}, ["searxng", "brave_llm", "tavily"]),
        ({"SIFT_DEMO": "auto"}, ["searxng", "brave_llm", "tavily"]),
        ({"SIFT_DEMO": "auto", "SIFT_BRAVE_API_KEY": "k"}, ["brave_llm"]),
    ],
)
def test_sources_are_those_switched_on_in_order(environ: dict[str, str], names: list[str]) -> None:
    """contract: Settings, Search answer: unset = source off; the order is fixed; the demo has all sources."""
    assert [source.name for source in Config.from_env({"HOME": "/h", **environ}, DECLARED).sources] == names


def test_no_source_is_set_three_variables_are_named() -> None:
    """contract: Settings: without a source and without the demo the start is refused, naming all three."""
    for environ in ({}, {"SIFT_BRAVE_URL": "https://h/x", "SIFT_TAVILY_URL": "https://h/y", "SIFT_DEMO": "off"}):
        with pytest.raises(ConfigError) as raised:
            Config.from_env({"HOME": "/h", **environ}, DECLARED)
        for name in ("SIFT_SEARXNG_URL", "SIFT_BRAVE_API_KEY", "SIFT_TAVILY_API_KEY"):
            assert name in str(raised.value)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "name", ["SIFT_BRAVE_URL", "SIFT_TAVILY_TIMEOUT", "SIFT_TAVILY_DAILY_CAP", "SIFT_BRAVE_TIMEOUT"]
)
def test_value_of_a_source_that_is_off_is_bad_it_is_named_all_the_same(name: str) -> None:
    """contract: Settings: a bad value stops the start, also that of a disabled source."""
    with pytest.raises(ConfigError, match=f"^{name} "):
        Config.from_env(BASE | {name: "bad"}, DECLARED)


def test_demo_is_auto_it_is_on_only_without_a_source() -> None:
    """contract: Demo: `auto` never hides a configured source; a blank variable configures none."""
    for environ, is_on in (({}, True), ({"SIFT_SEARXNG_URL": " "}, True), ({"SIFT_TAVILY_API_KEY": "k"}, False)):
        assert Config.from_env({"HOME": "/h", "SIFT_DEMO": "auto", **environ}, DECLARED).demo is is_on


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (DECLARED, "set SIFT_SEARXNG_URL, SIFT_BRAVE_API_KEY or SIFT_TAVILY_API_KEY (or SIFT_DEMO=on)"),
        (DECLARED[:2], "set SIFT_SEARXNG_URL or SIFT_BRAVE_API_KEY (or SIFT_DEMO=on)"),
        (DECLARED[1:2], "set SIFT_BRAVE_API_KEY (or SIFT_DEMO=on)"),
        (
            (*DECLARED[:1], VendorSettings("x", "SIFT_X", "X", key="key of X")),
            "set SIFT_SEARXNG_URL or SIFT_X_URL and SIFT_X_API_KEY (or SIFT_DEMO=on)",
        ),
    ],
)
def test_no_source_is_set_message_follows_from_what_is_declared(
    declared: tuple[VendorSettings, ...], words: str
) -> None:
    """The message names the variables of the declared vendors, and no others."""
    with pytest.raises(ConfigError) as raised:
        Config.from_env({"HOME": "/h"}, declared)
    assert str(raised.value) == f"no source is set: {words}"


def test_only_tavily_has_a_cap() -> None:
    """contract: Credits: the other sources have no cap."""
    assert [source.daily_cap for source in read().sources] == [None, None, 30]


# Keys


@pytest.mark.parametrize("name", KEYS)
def test_key_ends_with_white_space_it_is_trimmed(name: str) -> None:
    """contract: Settings: a key may come from a file, with its line end."""
    assert value(read(**{name: " \tsecret-key\r\n"}), name) == "secret-key"


@pytest.mark.parametrize("inside", UNFIT)
def test_key_holds_an_unfit_character_no_part_of_it_is_shown(inside: str) -> None:
    """contract: Settings: the refusal prints no part of a key."""
    with pytest.raises(ConfigError) as raised:
        read(SIFT_TAVILY_API_KEY=f"secret{inside}word")
    assert not re.search("secret|word", str(raised.value) + repr(raised.value))


def test_config_is_shown_keys_are_not() -> None:
    """contract: Settings: the value of a key is never printed."""
    config = read()
    for shown in (repr(config), str(config.sources), f"{config.sources[1]!r}"):
        assert "brave-key" not in shown
        assert "tavily-key" not in shown


def test_config_is_frozen() -> None:
    """contract: Settings: the settings are immutable."""
    config = read()
    with pytest.raises(FrozenInstanceError):
        config.threads = 1  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        config.sources[0].key = "x"  # type: ignore[misc]


# Paths


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({"SIFT_STATE_DIR": "/s", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/s"),
        ({"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/sift"),
        ({"XDG_STATE_HOME": " /x ", "HOME": "/h"}, "/x/sift"),
        ({"XDG_STATE_HOME": "", "HOME": "/h"}, "/h/.local/state/sift"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/h"}, "/h/.local/state/sift"),
        ({"HOME": "/h"}, "/h/.local/state/sift"),
        ({"SIFT_STATE_DIR": " ", "HOME": "/h"}, "/h/.local/state/sift"),
    ],
)
def test_state_dir_is_chosen_by_the_first_that_is_set(environ: dict[str, str], path: str) -> None:
    """contract: Settings: `SIFT_STATE_DIR`, then `$XDG_STATE_HOME/sift`, then `~/.local/state/sift`."""
    assert state_dir(environ) == Path(path)
    assert keys_file(environ) == Path(path) / "keys.json"
    assert keys_file(environ | {"SIFT_KEYS_FILE": " /k.json "}) == Path("/k.json")


@pytest.mark.parametrize("environ", [{}, {"HOME": ""}])
def test_state_dir_home_is_unset_the_users_own_is_taken(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """contract: Settings: `~` is the user's home, also when a service manager sets no HOME."""
    monkeypatch.delenv("HOME")
    assert state_dir(environ) == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".local/state/sift"


def test_state_dir_user_has_no_home_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """contract: Settings: in a container whose user has no passwd entry: one line, no traceback."""

    def unknown(user: int) -> None:
        raise KeyError(user)

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(ConfigError, match=r"^SIFT_STATE_DIR "):
        Config.from_env({"SIFT_SEARXNG_URL": "http://h"}, DECLARED)
    assert Config.from_env({"SIFT_SEARXNG_URL": "http://h", "SIFT_STATE_DIR": "/s"}, DECLARED).state_dir == Path("/s")


# The table


def test_settings_each_is_read_and_each_name_in_the_code_is_one() -> None:
    """README is compared with SETTINGS, so no setting in it is dead and none is missing."""
    names = [setting.name for setting in SETTINGS]
    assert len(set(names)) == len(names)
    assert set(names) == set(DEFAULTS)
    source = Path(sift.config.__file__).read_text()
    assert set(re.findall(r"SIFT_[A-Z_]+[A-Z]", source)) == {setting.name for setting in SERVICE} | CLIENT_VARIABLES
    assert {name for name, _, _ in GOOD} == {*names}
    assert {name for name, _ in BAD} == {*names} - {"SIFT_STATE_DIR", "SIFT_KEYS_FILE"}
    for name, text, meant in GOOD:
        if meant != DEFAULTS[name]:
            assert value(read(**{name: text}), name) == meant


def test_settings_defaults_are_those_in_use() -> None:
    """The documented default is the one in use."""
    shown = {setting.name: setting.default for setting in SETTINGS if setting.default}
    assert read(**shown) == read()
    assert all(setting.help and "\n" not in setting.help for setting in SETTINGS)


def test_settings_help_names_every_log_level() -> None:
    """contract: Settings: the help names exactly the levels that can be set."""
    (log_level,) = [setting for setting in SETTINGS if setting.name == "SIFT_LOG_LEVEL"]
    assert all(level in log_level.help for level in LOG_LEVELS)


@pytest.mark.parametrize("scheme", ["redis", "rediss", "valkey", "VALKEY"])
def test_store_is_one_that_forgets_the_reason_is_given(scheme: str) -> None:
    """contract: Settings: Valkey and Redis are refused with their reason, and nothing of the URL is shown."""
    with pytest.raises(ConfigError, match=r"^SIFT_STORE_URL .*forgets credits") as caught:
        read(SIFT_STORE_URL=f"{scheme}://user:secret@h")
    assert "secret" not in str(caught.value)


def test_store_url_is_not_in_the_repr() -> None:
    """contract: Settings: it may hold a password."""
    assert "secret" not in repr(read(SIFT_STORE_URL="postgresql://user:secret@h"))
