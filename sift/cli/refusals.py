"""Why there is no page, in words: what the guard's hints and the errors of a fetch mean (contract: Guard, Fetch)."""

from __future__ import annotations

from sift.cli.terminal import printable

REFUSALS = {
    "scheme": "the URL must begin with http:// or https://",
    "port": "the URL's port is none that may be used: 80, 443 and those of the service's SIFT_FETCH_PORTS",
    "address": "the URL's host is an address that is not public",
    "name": "the URL's host is no public name: localhost, a name without a dot or one for private networks",
    "userinfo": "the URL holds a user name or password",
    "form": "the URL is not written as the address of a web page",
}
FAILURES = {
    "address": "its host is, or leads to, an address that is not public",
    "dns": "the name of its host cannot be resolved",
    "connect": "no connection to its host can be made",
    "tls": "its host's certificate is not trusted, or TLS failed",
    "unreachable": "its host cannot be reached",
    "redirects": "too many redirects, or one that may not be followed",
    "encoding": "its compression is broken, or one that was not asked for",
    "too large": "it is too large",
    "bad response": "its host sent no proper answer, or no text could be made of it",
}
SWITCHED_OFF = (
    "not found: opening pages is switched off there (SIFT_FETCH=off), or SIFT_URL is not the service's address alone"
)
_ROBOTS = "not allowed: the site's robots.txt does not let programs open this page"
_NO_TEXT = "the page is neither HTML nor plain text, JSON or XML, nor a PDF where the service can read those"


def refused(hint: str) -> str:
    """Return why a URL may not be opened, as one line that does not hold the URL."""
    return f"not allowed: {REFUSALS.get(hint, 'the service refuses this URL')}"


def unopened(error: str, hint: str) -> str | None:
    """Return why a page was not opened, as one line that does not hold its URL; None for what is no error of a page."""
    if error == "url not allowed":
        return refused(hint)
    if error == "fetch failed":
        return f"the page could not be had: {_failure(hint)}"
    said = {
        "robots disallow": _ROBOTS,
        "unsupported content type": _NO_TEXT,
        "fetch timeout": "the page did not come in time",
    }
    return said.get(error)


def _failure(hint: str) -> str:
    if hint.startswith("status "):
        return printable(f"its host answered with {hint}")
    return FAILURES.get(hint, "the service does not say why")
