"""Every setting of Sift, read once from the environment into one frozen record. No vendor is named here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from sift.environ import Network, Reader, Setting
from sift.errors import ConfigError

BATCH_WORKERS = 8
SETTINGS = (
    Setting("SIFT_CACHE_TTL", "3600", "seconds an answer is kept; 0 = no cache"),
    Setting("SIFT_CACHE_ENTRIES", "2048", "answers kept at most, per worker"),
    Setting(
        "SIFT_STATE_DIR",
        "",
        "the cap ledger, batches and the key file; unset = $XDG_STATE_HOME/sift or ~/.local/state/sift",
    ),
    Setting("SIFT_STORE_URL", "", "postgresql://..., for several hosts; unset = files in the state directory"),
    Setting("SIFT_STORE_TIMEOUT", "1", "seconds to wait for the store, 0.1-10"),
    Setting("SIFT_KEYS_FILE", "", "the callers' keys; unset = keys.json in the state directory"),
    Setting("SIFT_AUTH", "keys", "keys or off; off = every caller is local, class fleet"),
    Setting(
        "SIFT_DEMO", "off", "on = the bundled demo sources and no others; auto = on when no source is set; off = never"
    ),
    Setting("SIFT_THREADS", "64", "requests one worker answers at a time"),
    Setting(
        "SIFT_BIND",
        "127.0.0.1:8787",
        "where to listen: host:port, [IPv6]:port or unix:/path; several with commas",
    ),
    Setting("SIFT_CPU_AFFINITY", "auto", "auto = each worker keeps to a CPU of its own; off = the kernel chooses"),
    Setting("SIFT_BREAKER_FAILURES", "5", "failures in a row after which a source is skipped; 0 = never skip"),
    Setting("SIFT_BREAKER_SECONDS", "30", "seconds it is then skipped"),
    Setting("SIFT_FETCH", "on", "on or off; off = no page can be opened, and the routes for it are gone"),
    Setting(
        "SIFT_FETCH_PLACES",
        "16",
        "pages one worker opens at a time, half of its threads at most; a caller may use a quarter",
    ),
    Setting("SIFT_FETCH_PORTS", "", "ports that may be connected to beside 80 and 443, with commas"),
    Setting(
        "SIFT_FETCH_DENY",
        "",
        "addresses and networks that may not be connected to beside all private ones, with commas",
    ),
    Setting("SIFT_ROBOTS", "all", "robots.txt: all = obeyed; batch = by batches only; off = not read"),
    Setting(
        "SIFT_BATCH_WORKERS", f"{BATCH_WORKERS}", "pages of batches one worker opens at a time, 0-64; 0 = none here"
    ),
    Setting("SIFT_CONTACT", "", "a URL or mail address in the User-Agent, for sites that are fetched"),
    Setting("SIFT_PUBLIC_URL", "", "https://host under which clients reach the service; unset = as each request says"),
    Setting("SIFT_METRICS", "on", "on or off; off = nothing is counted for Prometheus, and /metrics is gone"),
    Setting("SIFT_PAGE", "off", "on or off; on = GET / is a page for people, with a search box"),
    Setting("SIFT_LOG_LEVEL", "info", "debug, info, warning, error or critical"),
)
"""The settings of the service; those of the sources are declared by the vendors."""
CLIENT_VARIABLES = frozenset({"SIFT_URL", "SIFT_TOKEN"})
"""What the `sift` command reads; the environment of a service may hold them too."""
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")


@dataclass(frozen=True, slots=True)
class VendorSettings:
    """The settings of one vendor's source, which determine its variables, their defaults and their help.

    name: the source's name in answers, notes and the ledger. prefix: how its variables begin, `SIFT_` and the vendor in
    capitals. title: the vendor's name in sentences. url: the default; "" when there is none, so that the variable
    enables the source. appends: the path that the source adds to the URL, which is then a base URL; "" when the URL is
    complete.
    key: what the key is called; "" when none is needed, otherwise its variable enables the source.
    daily_cap: the default number of credits per UTC day; None when calls are not counted.
    rerank_is_optional: whether the list can keep its own scores and stay out of the RRF sum.
    """

    name: str
    prefix: str
    title: str
    url: str = ""
    appends: str = ""
    key: str = ""
    daily_cap: int | None = None
    rerank_is_optional: bool = False

    def variable(self, suffix: str) -> str:
        """Return the name of the variable that ends in `suffix`, such as `URL`."""
        return f"{self.prefix}_{suffix}"

    @property
    def switches(self) -> tuple[str, ...]:
        """Return the variables that must be set to enable the source."""
        needed = {"URL": not self.url, "API_KEY": bool(self.key)}
        return tuple(self.variable(suffix) for suffix, is_needed in needed.items() if is_needed)

    def settings(self) -> Iterator[Setting]:
        """Yield the variables of the source, starting with those that enable it."""
        off = "; unset = source off"
        if self.key:
            yield Setting(self.variable("API_KEY"), "", self.key + off)
        url = f"base URL of a {self.title} instance; {self.appends} is added"
        if not self.appends:
            url = f"whole URL of {self.title}'s endpoint"
        yield Setting(self.variable("URL"), self.url, url if self.url else url + off)
        if self.daily_cap is not None:
            yield Setting(
                self.variable("DAILY_CAP"), f"{self.daily_cap}", f"{self.title} credits a UTC day; 0 = never call"
            )
        if self.rerank_is_optional:
            kept = f"false = {self.title}'s list keeps its own scores, outside the RRF sum"
            yield Setting(self.variable("RERANK"), "true", kept)
        yield Setting(self.variable("TIMEOUT"), "8", "seconds of wall time for one call, 0.1-10")


@dataclass(frozen=True, slots=True)
class SourceConfig:
    """What one vendor's source needs. The key is left out of the repr."""

    name: str
    url: str
    key: str = field(default="", repr=False)
    timeout: float = 8.0
    daily_cap: int | None = None
    rerank: bool = True


@dataclass(frozen=True, slots=True)
class FetchConfig:
    """The settings of opening pages.

    ports: those allowed beside 80 and 443. deny: networks refused beside those that are not public.
    robots: `all`, `batch` or `off`. contact: for the User-Agent, "" for none.
    """

    enabled: bool = True
    places: int = 16
    ports: frozenset[int] = frozenset()
    deny: tuple[Network, ...] = ()
    robots: str = "all"
    contact: str = ""


@dataclass(frozen=True, slots=True)
class Config:
    """All settings of the service.

    sources: the enabled ones, in the order in which answers name them; with `demo` all that are declared.
    store_url: of PostgreSQL, "" for files in the state directory. It may hold a password, and is left out of the repr.
    store_timeout: seconds. batch_workers: threads of a process that open the pages of batches.
    public_url: an origin, without a slash at its end.
    """

    sources: tuple[SourceConfig, ...]
    state_dir: Path
    keys_file: Path
    store_url: str = field(default="", repr=False)
    store_timeout: float = 1.0
    auth: bool = True
    demo: bool = False
    cache_ttl: float = 3600.0
    cache_entries: int = 2048
    threads: int = 64
    bind: tuple[str, ...] = ("127.0.0.1:8787",)
    cpu_affinity: bool = True
    breaker_failures: int = 5
    breaker_seconds: float = 30.0
    fetch: FetchConfig = FetchConfig()
    batch_workers: int = BATCH_WORKERS
    public_url: str = ""
    metrics: bool = True
    page: bool = False
    log_level: str = "info"

    @classmethod
    def from_env(cls, environ: Mapping[str, str], declared: Sequence[VendorSettings]) -> Config:
        """Read the settings of the service and of the declared vendors, given in the order of answers.

        Raises ConfigError naming the variable that is wrong.
        """
        read = Reader(environ, all_settings(declared))
        demo = read.choice("SIFT_DEMO", ("on", "auto", "off"))
        sources = [_source(read, each) for each in declared]  # also those that are off, so that a bad value is reported
        chosen = [source for source, each in zip(sources, declared, strict=True) if _is_on(source, each)]
        is_demo = demo == "on" or (demo == "auto" and not chosen)
        config = cls(
            sources=tuple(sources if is_demo else chosen),
            state_dir=state_dir(environ),
            keys_file=keys_file(environ),
            store_url=read.store("SIFT_STORE_URL"),
            store_timeout=read.number("SIFT_STORE_TIMEOUT", 0.1, 10),
            auth=read.choice("SIFT_AUTH", ("keys", "off")) == "keys",
            demo=is_demo,
            cache_ttl=read.number("SIFT_CACHE_TTL", 0, 86_400 * 365),
            cache_entries=read.integer("SIFT_CACHE_ENTRIES", 1, 10_000_000),
            threads=read.integer("SIFT_THREADS", 1, 4096),
            bind=read.addresses("SIFT_BIND"),
            cpu_affinity=read.choice("SIFT_CPU_AFFINITY", ("auto", "off")) == "auto",
            breaker_failures=read.integer("SIFT_BREAKER_FAILURES", 0, 1_000_000),
            breaker_seconds=read.number("SIFT_BREAKER_SECONDS", 0.1, 86_400),
            fetch=_read_fetch(read),
            batch_workers=read.integer("SIFT_BATCH_WORKERS", 0, 64),
            public_url=read.origin("SIFT_PUBLIC_URL"),
            metrics=read.choice("SIFT_METRICS", ("on", "off")) == "on",
            page=read.choice("SIFT_PAGE", ("on", "off")) == "on",
            log_level=read.choice("SIFT_LOG_LEVEL", LOG_LEVELS),
        )
        if not config.sources:
            switches = _listed(" and ".join(each.switches) for each in declared)
            raise ConfigError(f"no source is set: set {switches} (or SIFT_DEMO=on)")
        return config


def all_settings(declared: Iterable[VendorSettings]) -> tuple[Setting, ...]:
    """Return every setting: those of the vendors, then those of the service. The README's table has the same order."""
    return tuple(setting for each in declared for setting in each.settings()) + SETTINGS


def unknown_variables(environ: Iterable[str], declared: Iterable[VendorSettings]) -> dict[str, str]:
    """Return the `SIFT_` variables that are no settings, each with the setting that was probably meant, or ""."""
    known = {setting.name for setting in all_settings(declared)} | CLIENT_VARIABLES
    unknown = sorted(name for name in environ if name.upper().startswith("SIFT_") and name not in known)
    return {name: next(iter(get_close_matches(name.upper(), known, 1, 0.8)), "") for name in unknown}


def state_dir(environ: Mapping[str, str]) -> Path:
    """Return the only directory Sift writes to. Raises ConfigError when none is set and the user has no home."""
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
    """Return the path of the callers' key file, for `sift key` as for the service."""
    chosen = environ.get("SIFT_KEYS_FILE", "").strip()
    return Path(chosen) if chosen else state_dir(environ) / "keys.json"


def _source(read: Reader, declared: VendorSettings) -> SourceConfig:
    """Read the settings of one vendor's source, whether it is on or off."""
    name = declared.variable
    return SourceConfig(
        declared.name,
        read.base_url(name("URL")) if declared.appends else read.url(name("URL")),
        read.secret(name("API_KEY")) if declared.key else "",
        read.number(name("TIMEOUT"), 0.1, 10),
        daily_cap=None if declared.daily_cap is None else read.integer(name("DAILY_CAP"), 0, 1_000_000_000),
        rerank=not declared.rerank_is_optional or read.choice(name("RERANK"), ("true", "false")) == "true",
    )


def store_config(environ: Mapping[str, str]) -> Config:
    """Read the settings of the store alone, for `sift store` as for the service. Raises ConfigError."""
    read = Reader(environ, SETTINGS)
    return Config(
        sources=(),
        state_dir=state_dir(environ),
        keys_file=keys_file(environ),
        store_url=read.store("SIFT_STORE_URL"),
        store_timeout=read.number("SIFT_STORE_TIMEOUT", 0.1, 10),
    )


def fetch_config(environ: Mapping[str, str]) -> FetchConfig:
    """Read the settings of opening pages, for `sift guard` as for the service. Raises ConfigError."""
    return _read_fetch(Reader(environ, SETTINGS))


def _read_fetch(read: Reader) -> FetchConfig:
    return FetchConfig(
        enabled=read.choice("SIFT_FETCH", ("on", "off")) == "on",
        places=read.integer("SIFT_FETCH_PLACES", 1, 1024),
        ports=read.ports("SIFT_FETCH_PORTS"),
        deny=read.networks("SIFT_FETCH_DENY"),
        robots=read.choice("SIFT_ROBOTS", ("all", "batch", "off")),
        contact=read.comment("SIFT_CONTACT"),
    )


def _is_on(source: SourceConfig, declared: VendorSettings) -> bool:
    return bool(source.url) and (bool(source.key) or not declared.key)


def _listed(words: Iterable[str]) -> str:
    """Join words as in a sentence: `a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
