"""Every setting of Sift, read once from the environment into one frozen record (contract §2)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from sift.errors import ConfigError


class Setting(NamedTuple):
    """Describe one environment variable; the README's table is held to these by a test."""

    name: str
    default: str
    help: str


SETTINGS = (
    Setting("SIFT_SEARXNG_URL", "", "base URL of a SearXNG instance; unset = source off"),
    Setting("SIFT_BRAVE_API_KEY", "", "Brave subscription token; unset = source off"),
    Setting("SIFT_BRAVE_URL", "https://api.search.brave.com/res/v1/llm/context", "whole URL of Brave's endpoint"),
    Setting("SIFT_TAVILY_API_KEY", "", "Tavily key; unset = source off"),
    Setting("SIFT_TAVILY_URL", "https://api.tavily.com/search", "whole URL of Tavily's endpoint"),
    Setting("SIFT_TAVILY_DAILY_CAP", "30", "Tavily credits a UTC day; 0 = never call"),
    Setting("SIFT_TAVILY_RERANK", "true", "false = Tavily's list keeps its own scores, outside the RRF sum"),
    Setting("SIFT_SEARXNG_TIMEOUT", "8", "seconds of wall time for one call, 0.1-10"),
    Setting("SIFT_BRAVE_TIMEOUT", "8", "seconds of wall time for one call, 0.1-10"),
    Setting("SIFT_TAVILY_TIMEOUT", "8", "seconds of wall time for one call, 0.1-10"),
    Setting("SIFT_CACHE_TTL", "3600", "seconds an answer is kept; 0 = no cache"),
    Setting("SIFT_CACHE_ENTRIES", "2048", "answers kept at most, per worker"),
    Setting(
        "SIFT_STATE_DIR", "", "the cap ledger and the key file; unset = $XDG_STATE_HOME/sift or ~/.local/state/sift"
    ),
    Setting("SIFT_KEYS_FILE", "", "the callers' keys; unset = keys.json in the state directory"),
    Setting("SIFT_AUTH", "keys", "keys or off; off = every caller is local, class fleet"),
    Setting("SIFT_DEMO", "off", "on = the bundled demo sources and no others"),
    Setting("SIFT_THREADS", "64", "requests one worker answers at a time"),
    Setting("SIFT_CPU_AFFINITY", "auto", "auto = each worker keeps to a CPU of its own; off = the kernel chooses"),
    Setting("SIFT_BREAKER_FAILURES", "5", "failures in a row after which a source is skipped; 0 = never skip"),
    Setting("SIFT_BREAKER_SECONDS", "30", "seconds it is then skipped"),
    Setting("SIFT_LOG_LEVEL", "info", "debug, info, warning, error or critical"),
)
_DEFAULTS = {setting.name: setting.default for setting in SETTINGS}
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """Hold what one vendor's source needs; the key never shows in its repr."""

    name: str
    url: str
    key: str = field(default="", repr=False)
    timeout: float = 8.0
    daily_cap: int | None = None
    rerank: bool = True


@dataclass(frozen=True, slots=True)
class Config:
    """Hold all settings of the service.

    sources: the enabled ones, in the order answers name them; with `demo` all, whatever is set.
    """

    sources: tuple[SourceConfig, ...]
    state_dir: Path
    keys_file: Path
    auth: bool = True
    demo: bool = False
    cache_ttl: float = 3600.0
    cache_entries: int = 2048
    threads: int = 64
    cpu_affinity: bool = True
    breaker_failures: int = 5
    breaker_seconds: float = 30.0
    log_level: str = "info"

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Config:
        """Read the settings. Raises ConfigError naming the variable that is wrong."""
        read = _Reader(environ)
        is_demo = read.choice("SIFT_DEMO", ("on", "off")) == "on"
        config = cls(
            sources=tuple(source for source, is_set in _sources(read) if is_set or is_demo),
            state_dir=state_dir(environ),
            keys_file=keys_file(environ),
            auth=read.choice("SIFT_AUTH", ("keys", "off")) == "keys",
            demo=is_demo,
            cache_ttl=read.number("SIFT_CACHE_TTL", 0, 86_400 * 365),
            cache_entries=read.integer("SIFT_CACHE_ENTRIES", 1, 10_000_000),
            threads=read.integer("SIFT_THREADS", 1, 4096),
            cpu_affinity=read.choice("SIFT_CPU_AFFINITY", ("auto", "off")) == "auto",
            breaker_failures=read.integer("SIFT_BREAKER_FAILURES", 0, 1_000_000),
            breaker_seconds=read.number("SIFT_BREAKER_SECONDS", 0.1, 86_400),
            log_level=read.choice("SIFT_LOG_LEVEL", LOG_LEVELS),
        )
        if not config.sources:
            raise ConfigError(
                "no source is set: set SIFT_SEARXNG_URL, SIFT_BRAVE_API_KEY or SIFT_TAVILY_API_KEY (or SIFT_DEMO=on)"
            )
        return config


def state_dir(environ: Mapping[str, str]) -> Path:
    """Give the directory Sift writes to, and nowhere else. Raises ConfigError when there is none to choose."""
    if chosen := environ.get("SIFT_STATE_DIR", "").strip():
        return Path(chosen)
    base = environ.get("XDG_STATE_HOME", "").strip()
    if base.startswith("/"):  # the XDG specification: a relative path there is invalid and ignored
        return Path(base) / "sift"
    try:
        return Path(environ.get("HOME") or "~").expanduser() / ".local/state/sift"
    except RuntimeError:  # a user without a home, as in many containers
        raise ConfigError("SIFT_STATE_DIR must be set: this user has no home directory") from None


def keys_file(environ: Mapping[str, str]) -> Path:
    """Give the path of the callers' key file; `sift key` and the service share this rule."""
    chosen = environ.get("SIFT_KEYS_FILE", "").strip()
    return Path(chosen) if chosen else state_dir(environ) / "keys.json"


def _sources(read: _Reader) -> tuple[tuple[SourceConfig, bool], ...]:
    """Read each source's settings, and whether it is switched on; all are read, so each bad one is named."""
    searxng = SourceConfig("searxng", read.base_url("SIFT_SEARXNG_URL"), timeout=read.timeout("SIFT_SEARXNG_TIMEOUT"))
    brave = SourceConfig(
        "brave_llm",
        read.url("SIFT_BRAVE_URL"),
        read.secret("SIFT_BRAVE_API_KEY"),
        read.timeout("SIFT_BRAVE_TIMEOUT"),
    )
    tavily = SourceConfig(
        "tavily",
        read.url("SIFT_TAVILY_URL"),
        read.secret("SIFT_TAVILY_API_KEY"),
        read.timeout("SIFT_TAVILY_TIMEOUT"),
        daily_cap=read.integer("SIFT_TAVILY_DAILY_CAP", 0, 1_000_000_000),
        rerank=read.choice("SIFT_TAVILY_RERANK", ("true", "false")) == "true",
    )
    return (searxng, bool(searxng.url)), (brave, bool(brave.key)), (tavily, bool(tavily.key))


class _Reader:
    """Read typed values; a set but blank variable counts as unset."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    def text(self, name: str) -> str:
        return self._environ.get(name, "").strip() or _DEFAULTS[name]

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self.text(name).lower()
        if value not in allowed:
            raise ConfigError(f"{name} must be {' or '.join(allowed)}")
        return value

    def integer(self, name: str, low: int, high: int) -> int:
        value = self.text(name)
        # ASCII digits only: int() also takes "1_0" and digits of other scripts.
        if not (value.isascii() and value.isdigit() and len(value) <= 12 and low <= int(value) <= high):
            raise ConfigError(f"{name} must be a whole number from {low} to {high}")
        return int(value)

    def number(self, name: str, low: float, high: float) -> float:
        text = self.text(name)
        try:
            # ASCII only, and no "1_0": float() takes more than a reader would.
            value = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise ConfigError(f"{name} must be a number from {low:g} to {high:g}")
        return value

    def timeout(self, name: str) -> float:
        return self.number(name, 0.1, 10)

    def url(self, name: str) -> str:
        value = self.text(name)
        if value and not _is_endpoint(value):
            raise ConfigError(f"{name} must be an absolute http or https URL without user name and fragment")
        return value

    def base_url(self, name: str) -> str:
        value = self.url(name)
        if "?" in value:  # `/search` is put after it
            raise ConfigError(f"{name} is a base URL and holds no query")
        return value

    def secret(self, name: str) -> str:
        value = self._environ.get(name, "").strip()
        # Such a key would be refused deep inside the HTTP client, in an error that shows it (B175).
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise ConfigError(f"{name} holds a blank, control or non-ASCII character")
        return value


def _is_endpoint(url: str) -> bool:
    if not (url.isascii() and url.isprintable()) or any(char in url for char in " \\#"):
        return False
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0 and "@" not in parts.netloc
