"""Asking vendors at no cost whether their settings are good, one file each (contract: Doctor).

No service loads this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sift.config import SourceConfig
from sift.errors import SourceError
from sift.findings import Finding, fail
from sift.wire.look import Seen

Ask = Callable[[str, Mapping[str, str]], Seen]
"""Takes a URL and headers, and returns what answered a GET, whatever its status. Raises SourceError."""
Probe = Callable[[SourceConfig, Ask], Iterator[Finding]]
"""Takes the settings of a source that is on; yields what is right and wrong with them. Raises SourceError."""

_UNREACHABLE = {
    "refused": ("the connection was refused", "correct host and port in {url}, or start what should answer there"),
    "name": ("its host name cannot be resolved", "correct the host in {url}, or the name server of this host"),
    "certificate": ("its certificate is not trusted", "SSL_CERT_FILE names a private authority; or correct {url}"),
    "tls": ("no TLS connection could be made", "{url} may need http:// instead of https://"),
    "reset": ("the connection was closed", "look at what answers there; {url} may need https:// instead of http://"),
}


def unreached(source: str, url: str, error: SourceError) -> Finding:
    """Return why a vendor gave no answer. url: the variable that names its address."""
    if error.reason == "timeout":
        return fail(source, "no answer in time", f"correct {url}, or look at network, firewall and vendor")
    what, cure = _UNREACHABLE.get(
        error.detail, (f"no usable answer ({error.reason})", "correct {url}; Sift uses no proxy of the environment")
    )
    return fail(source, what, cure.format(url=url))


def unexpected(source: str, url: str, seen: Seen) -> Finding:
    """Return that an answer is not the vendor's."""
    if 300 <= seen.status < 400:
        return fail(source, f"it redirects elsewhere (http {seen.status})", f"set {url} to where it redirects to")
    if is_sift(seen):
        return fail(source, "Sift itself answers there", f"set {url} to the vendor's address, not to Sift's")
    if seen.status >= 500:
        return fail(source, f"it answers http {seen.status}", "look at its log, or wait until it is well again")
    return fail(source, f"it answers http {seen.status}, which is not the vendor's answer", f"correct {url}")


def is_sift(seen: Seen) -> bool:
    """Whether an answer has the form of Sift's own errors."""
    found = seen.json()
    return seen.status >= 400 and {"error", "hint"} <= found.keys() and isinstance(found["error"], str)
