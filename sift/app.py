"""The wiring, from settings to a WSGI application: the only module that knows every part."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from flask import Blueprint, Flask

from sift import demo, log
from sift.api import errors, guard, health, metrics, openapi, opening, page, v1, v2
from sift.api.services import Credits, Services
from sift.api.v1.cached import CachedSearch
from sift.auth.caller import LOCAL
from sift.auth.identify import KeyFile
from sift.auth.keystore import MISSING, KeyFileError
from sift.auth.throttle import Throttle
from sift.config import Config, SourceConfig
from sift.errors import ConfigError
from sift.health import SourceHealth
from sift.metrics.scrapes import Scrapes
from sift.observe import CacheTally, Observer, Observers, Usage, Usages
from sift.opening import LazyFetcher, watch_batches
from sift.search.calls import Calls
from sift.search.engine import Engine
from sift.search.protocols import LedgerError, Source
from sift.sources import DECLARED, VENDORS, build_source
from sift.sources.lazy import LazySource
from sift.store.cache import MemoryCache
from sift.store.mark import Mark
from sift.store.open import CreditLedger, open_store
from sift.store.usage import DIRECTORY, UsageTally, by_day

DEMO_NOTICE = "demo sources: set SIFT_SEARXNG_URL to search the web"
MAKE_A_KEY = "sift key new --name NAME --class CLASS"
_MODULES = {vendor.settings.name: module for module, vendor in VENDORS.items()}


def create_app(config: Config | None = None, services: Services | None = None) -> Flask:
    """Return the application. It starts no thread and opens no connection before the first search.

    Raises ConfigError when a setting is wrong or no key is usable.
    """
    if services is None:
        services = build_services(config or Config.from_env(os.environ, DECLARED))
    log.install(services.log)
    app = Flask("sift", static_folder=None)
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False  # Flask would answer OPTIONS without a key
    app.url_map.merge_slashes = False  # `/v1//search` is a 404, not an HTML redirect
    app.extensions["sift"] = services
    guard.install(app)
    errors.install(app)
    pages: tuple[Blueprint, ...] = () if services.fetcher is None else (opening.bp,)
    if services.jobs is not None:
        pages += (opening.batches,)
    if services.page:
        pages += (page.bp,)
    for blueprint in (v1.bp, v2.bp, opening.doors, health.bp, metrics.bp, openapi.bp, *pages):
        app.register_blueprint(blueprint)
    app.wsgi_app = CachedSearch(app.wsgi_app, services)  # type: ignore[method-assign]
    return app


def build_services(
    config: Config,
    keys: KeyFile | None = None,
    mark: Mark | None = None,
    cpus: frozenset[int] = frozenset(),
    workers: Callable[[], int] = lambda: 1,
) -> Services:
    """Build every part from the settings. Raises ConfigError.

    keys: those already read, by this process or the one it was forked from. mark: what these processes know together
    about the ledger. cpus: those that the service may use; this process may be pinned to one of them.
    workers: returns how many processes like this one there are to be.
    """
    # A vendor without a stand-in is no demo source: the demo must not query the real one.
    sources = [source for source in config.sources if not config.demo or demo.has(_MODULES[source.name])]
    # Demo searches cost nothing, so nothing is counted.
    caps = {source.name: source.daily_cap for source in sources if source.daily_cap is not None and not config.demo}
    store = open_store(config, caps, mark)
    ledger = store.ledger
    tally, health = CacheTally(), SourceHealth()
    scrapes = Scrapes([source.name for source in sources], wanted=config.metrics)
    observer = Observers(tally, health, *scrapes.observers)
    cache = _build_cache(config, observer)
    usage = (
        None if config.demo else UsageTally(ledger, [source.name for source in sources], config.state_dir / DIRECTORY)
    )
    counts = None if usage is None else Usages(usage, *scrapes.observers)
    calls = _build_calls(config, sources, ledger, observer, counts)
    throttle = Throttle(config.threads)
    fetcher = LazyFetcher(config, cpus) if config.fetch.enabled else None

    watch = None if fetcher is None else watch_batches(config.batch_workers, store, fetcher, observer)

    def close() -> None:
        if watch is not None:
            watch.close()
        if usage is not None:
            usage.close()
        store.close()
        if fetcher is not None:
            fetcher.close()

    def refused(peer: str) -> None:
        observer.auth_failed()
        throttle.refused(peer)

    def balances() -> dict[str, Credits]:
        return {name: _credits(ledger, name, cap) for name, cap in caps.items()}

    return Services(
        engine=Engine(calls, cache, observer=observer, usage=counts),
        identify=(keys or open_keys(config.keys_file)).identify if config.auth else lambda _: LOCAL,
        refused=refused,
        log=log.JsonLog(config.log_level),
        cache_stats=lambda: {"entries": 0 if cache is None else len(cache), "hit_rate": tally.hit_rate()},
        credits=balances,
        usage=lambda days: () if usage is None else _used(usage, days, tuple(calls.reranked)),
        ready=lambda: any(calls.skip(name) is None for name in calls.reranked),
        workers=workers,
        scrape=scrapes.bound_to(balances),
        why_no_metrics=scrapes.why_none,
        observer=observer,
        begin_metrics=scrapes.begin,
        source_status=lambda name: health.status(name, calls.skip(name)),
        since=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        threads=config.threads,
        public_url=config.public_url,
        checks_host=not config.auth,
        demo=config.demo,
        page=config.page,
        notices=(DEMO_NOTICE,) if config.demo else (),
        close=close,
        fetcher=fetcher,
        jobs=None if fetcher is None else store.jobs,
        wake=_nothing if watch is None else watch.wake,
        watch=_nothing if watch is None else watch.look,
        retire=_nothing if watch is None else watch.stop,
    )


def _nothing() -> None:
    """Do nothing: this process has no threads for batches."""


def _build_cache(config: Config, observer: Observer) -> MemoryCache | None:
    if not config.cache_ttl:
        return None
    return MemoryCache(config.cache_entries, config.cache_ttl, resized=observer.cache_resized)


def _build_calls(
    config: Config, sources: Sequence[SourceConfig], ledger: CreditLedger, observer: Observer, usage: Usage | None
) -> Calls:
    make = _demo_source if config.demo else build_source
    return Calls(
        [make(source, config.threads) for source in sources],
        ledger,
        threads=config.threads,
        breaker_failures=config.breaker_failures,
        breaker_seconds=config.breaker_seconds,
        observer=observer,
        usage=usage,
    )


def _demo_source(settings: SourceConfig, calls: int) -> Source:
    """Return the vendor's own source, pointed at the bundled server, so that the whole path is exercised."""
    module = _MODULES[settings.name]

    def make() -> Source:
        url = demo.start(module).removesuffix(VENDORS[module].settings.appends)
        return build_source(replace(settings, url=url, key="demo"), calls)

    return LazySource(settings.name, settings.timeout, reranked=settings.rerank, make=make)


def open_keys(path: Path) -> KeyFile:
    """Return the key file after reading it. Raises ConfigError unless it holds a usable key."""
    keys = KeyFile(path)
    try:
        keys.check()
    except ConfigError as error:
        if isinstance(error, KeyFileError) and error.reason != MISSING:
            raise  # the command would refuse the file, too
        raise ConfigError(f"{error}; this command makes a key: {MAKE_A_KEY}") from None
    return keys


def _used(usage: UsageTally, days: int, names: tuple[str, ...]) -> list[dict[str, object]] | None:
    try:
        return list(by_day(usage.used(days), names))
    except LedgerError:
        return None


def _credits(ledger: CreditLedger, name: str, cap: int) -> Credits:
    try:
        used: int | None = ledger.spent(name)
    except LedgerError:
        used = None
    return Credits(used, cap, ledger.resets_at())
