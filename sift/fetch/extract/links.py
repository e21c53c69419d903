"""Links of a page: absolute, and only those that a reader could follow."""

from __future__ import annotations

from urllib.parse import urljoin

_LONGEST = 2048


class Links:
    """Resolves the links of one page. url: the page's. A `base` element, the first one, changes what they refer to."""

    def __init__(self, url: str) -> None:
        self._base = url
        self._has_base = False

    def base(self, href: str | None) -> None:
        """Take the `href` of a `base` element."""
        if href and not self._has_base:
            self._has_base = True
            self._base = _joined(self._base, href) or self._base

    def absolute(self, href: str | None) -> str:
        """Return an absolute HTTP link, "" for anything else and for a place in the page itself."""
        href = "".join((href or "").split())
        if not href or href.startswith("#") or len(href) > _LONGEST:
            return ""
        joined = _joined(self._base, href)
        return joined if len(joined) <= _LONGEST else ""


def _joined(base: str, href: str) -> str:
    try:
        joined = urljoin(base, href)
    except ValueError:
        return ""
    return joined if joined[:8].lower().startswith(("http://", "https://")) else ""
