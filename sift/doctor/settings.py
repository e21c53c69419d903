"""Every wrong setting, and not only the first, which is where a start ends (contract: Doctor)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from sift.config import Config, VendorSettings, all_settings, unknown_variables
from sift.errors import ConfigError
from sift.findings import Finding, caution, fail, ok
from sift.server.__main__ import workers

CHECK = "settings"
_STATE = "SIFT_STATE_DIR"


class Settings(NamedTuple):
    """The settings without those that are wrong, and what was found. has_state: whether there is a state directory."""

    config: Config
    has_state: bool
    found: list[Finding]


def read_settings(environ: Mapping[str, str], declared: Sequence[VendorSettings]) -> Settings:
    """Read the settings; leave out one after another that is wrong until the rest can be read."""
    left, found = dict(environ), list[Finding]()
    defaults = {setting.name: setting.default for setting in all_settings(declared)}
    has_state, has_source = True, True
    while True:
        try:
            config = Config.from_env(left, declared)
            break
        except ConfigError as error:
            message = str(error)
        name = message.partition(" ")[0]
        if left.pop(name, "").strip():
            default = f" for its default, {defaults[name]}" if defaults.get(name) else ""
            found.append(fail(CHECK, message, f"correct it, or leave it out{default}"))
        elif name == _STATE:
            what, _, why = message.partition(": ")
            found.append(
                fail("state", f"no state directory is set, and {why}", f"{what}, to a directory for Sift alone")
            )
            has_state, left[_STATE] = False, "."
        else:
            what, _, cure = message.partition(": ")
            found.append(fail(CHECK, what, cure))
            has_source, left["SIFT_DEMO"] = False, "on"
    if not has_source:
        config = replace(config, sources=(), demo=False)
    found += _beside(environ, declared)
    return Settings(config, has_state, found + _sources(config, has_source=has_source, has_faults=bool(found)))


def _beside(environ: Mapping[str, str], declared: Sequence[VendorSettings]) -> list[Finding]:
    """Return what is wrong with variables that are no settings of Sift's."""
    found = [
        caution(
            CHECK, f"{name} is no setting, and changes nothing", f"did you mean {meant}?" if meant else "take it out"
        )
        for name, meant in unknown_variables(environ, declared).items()
    ]
    try:
        workers(environ.get("WEB_CONCURRENCY", ""), 1)
    except ConfigError as error:
        found.append(fail(CHECK, str(error), "correct it, or leave it out for one worker"))
    return found


def _sources(config: Config, *, has_source: bool, has_faults: bool) -> list[Finding]:
    if not has_source:
        return []
    if config.demo:
        return [caution(CHECK, "the bundled demo answers, and no real source", "set a source, and SIFT_DEMO=off")]
    names = ", ".join(source.name for source in config.sources)
    count = len(config.sources)
    begin = "the others are good" if has_faults else "all are good"
    return [ok(CHECK, f"{begin}; {count} source{'s' * (count > 1)}: {names}")]
