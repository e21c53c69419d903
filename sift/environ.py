"""Reading settings from the environment: typed, each with one sentence for whoever set it wrongly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import NamedTuple

from sift.addresses import is_bindable, is_endpoint
from sift.errors import ConfigError

Network = IPv4Network | IPv6Network


class Setting(NamedTuple):
    """One environment variable. A test compares the README's table with these."""

    name: str
    default: str
    help: str


class Reader:
    """Typed access to the environment. A variable that is set but blank counts as unset."""

    def __init__(self, environ: Mapping[str, str], settings: Iterable[Setting]) -> None:
        self._environ = environ
        self._defaults = {setting.name: setting.default for setting in settings}

    def text(self, name: str) -> str:
        return self._environ.get(name, "").strip() or self._defaults[name]

    def choice(self, name: str, allowed: tuple[str, ...]) -> str:
        value = self.text(name).lower()
        if value not in allowed:
            raise ConfigError(f"{name} must be {' or '.join(allowed)}")
        return value

    def integer(self, name: str, low: int, high: int) -> int:
        value = self.text(name)
        # ASCII digits only: int() also accepts "1_0" and digits of other scripts.
        if not (value.isascii() and value.isdigit() and len(value) <= 12 and low <= int(value) <= high):
            raise ConfigError(f"{name} must be a whole number from {low} to {high}")
        return int(value)

    def number(self, name: str, low: float, high: float) -> float:
        text = self.text(name)
        try:
            # ASCII only, and no "1_0": float() accepts more than a reader would.
            value = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise ConfigError(f"{name} must be a number from {low:g} to {high:g}")
        return value

    def url(self, name: str) -> str:
        value = self.text(name)
        if value and not is_endpoint(value):
            raise ConfigError(f"{name} must be an absolute http or https URL without user name, zone and fragment")
        return value

    def base_url(self, name: str) -> str:
        value = self.url(name)
        if "?" in value:  # a path is appended to it
            raise ConfigError(f"{name} is a base URL and holds no query")
        return value

    def origin(self, name: str) -> str:
        value = self.url(name).removesuffix("/")
        if value.count("/") > 2 or "?" in value:  # clients drop the path of an address
            raise ConfigError(f"{name} is an origin such as https://sift.example, without a path")
        return value

    def addresses(self, name: str) -> tuple[str, ...]:
        found = tuple(address.strip() for address in self.text(name).split(","))
        if not all(map(is_bindable, found)):
            raise ConfigError(f"{name} must be host:port, [IPv6]:port or unix:/path, or several of them with commas")
        return found

    def ports(self, name: str) -> frozenset[int]:
        words = [word.strip() for word in self.text(name).split(",")] if self.text(name) else []
        if not all(word.isascii() and word.isdigit() and 1 <= int(word[:6]) <= 65_535 for word in words):
            raise ConfigError(f"{name} must be port numbers from 1 to 65535, with commas")
        return frozenset(map(int, words))

    def networks(self, name: str) -> tuple[Network, ...]:
        try:
            return tuple(ip_network(word.strip()) for word in self.text(name).split(",")) if self.text(name) else ()
        except ValueError:
            raise ConfigError(f"{name} must be addresses or networks such as 203.0.113.0/24, with commas") from None

    def store(self, name: str) -> str:
        value = self.text(name)
        scheme = value.partition("://")[0].lower()
        if scheme in ("valkey", "redis", "rediss", "valkeys"):
            raise ConfigError(
                f"{name} cannot be {scheme}: with its usual persistence a restart forgets credits that were spent"
            )
        # The value may hold a password, so it is not shown.
        if value and (scheme not in ("postgresql", "postgres") or not (value.isascii() and value.isprintable())):
            raise ConfigError(f"{name} must be a postgresql:// URI, or unset for files in the state directory")
        return value

    def comment(self, name: str) -> str:
        value = self.text(name)
        if not (value.isascii() and value.isprintable()) or set(value) & set("()\\"):
            raise ConfigError(f"{name} holds a parenthesis, backslash, control or non-ASCII character")
        return value

    def secret(self, name: str) -> str:
        value = self._environ.get(name, "").strip()
        # The HTTP client would reject such a key with an error that shows it.
        if not (value.isascii() and value.isprintable()) or " " in value:
            raise ConfigError(f"{name} holds a blank, control or non-ASCII character")
        return value
