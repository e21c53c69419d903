"""What the guard's hints mean, in words (contract: Guard)."""

from __future__ import annotations

REFUSALS = {
    "scheme": "the URL must begin with http:// or https://",
    "port": "the URL's port is none that may be used: 80, 443 and those of the service's SIFT_FETCH_PORTS",
    "address": "the URL's host is an address that is not public",
    "name": "the URL's host is no public name: localhost, a name without a dot or one for private networks",
    "userinfo": "the URL holds a user name or password",
    "form": "the URL is not written as the address of a web page",
}


def refused(hint: str) -> str:
    """Return why a URL may not be opened, as one line that does not hold the URL."""
    return f"not allowed: {REFUSALS.get(hint, 'the service refuses this URL')}"
