"""One GET of one guarded address: a new connection, closed after it, and nothing sent that tells on a caller."""

from __future__ import annotations

from collections.abc import Callable

from sift.errors import FetchError, NoThreadError, RefusedAddressError
from sift.guard.guard import Guard
from sift.guard.url import Target
from sift.wire.call import Call
from sift.wire.connection import Connection
from sift.wire.dial import TLS, dial, tls_context
from sift.wire.exchange import Exchange, Reply
from sift.wire.pool import Pool
from sift.wire.reasons import reason
from sift.wire.resolver import Resolver

ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/*;q=0.8,*/*;q=0.5"
_HINTS = {"certificate": "tls", "tls": "tls", "name": "dns"}


class Web:
    """The web behind the guard: every connection that a request can cause is opened here.

    resolver: looks names up. user_agent: sent with each request. make_tls: the authorities; those of this host.
    """

    def __init__(
        self,
        guard: Guard,
        resolver: Resolver,
        *,
        user_agent: str,
        make_tls: Callable[[], TLS] = lambda: tls_context(environment=False),
    ) -> None:
        self.guard = guard
        self._resolver = resolver
        self._make_tls = make_tls
        self._tls: TLS | None = None
        self._headers = {
            "User-Agent": user_agent,
            "Accept": ACCEPT,
            "Accept-Encoding": "gzip",
            "Connection": "close",
        }

    def get(self, target: Target, call: Call) -> Reply:
        """Ask for a page once, and return its answer, whatever the status, with the body unread. Raises FetchError.

        The answer is used in a `with`, which closes the connection.
        """
        pool = Pool(lambda call: self._connect(target, call), 0)
        headers = {"Host": target.authority, **self._headers}
        try:
            return Exchange(pool, call).urlopen("GET", target.path, None, headers)
        except (OSError, ValueError) as error:
            raise failed(error, call) from None

    def _connect(self, target: Target, call: Call) -> Connection:
        try:
            return dial(
                target.host,
                target.port,
                call,
                resolver=self._resolver,
                judge=self.guard.judge,
                confirm=self.guard.confirm,
                tls=self._context() if target.scheme == "https" else None,
            )
        except RefusedAddressError:
            raise FetchError("fetch failed", "address") from None
        except NoThreadError:
            raise FetchError("busy") from None
        except (OSError, ValueError) as error:
            raise failed(error, call, _HINTS.get(reason(error), "connect")) from None

    def _context(self) -> TLS:
        if self._tls is None:  # two threads may make one each: they are alike
            self._tls = self._make_tls()
        return self._tls


def failed(error: Exception, call: Call, hint: str = "bad response") -> FetchError:
    """Return what to raise in place of an error of the wire, whose text may hold anything."""
    return FetchError("fetch timeout") if call.is_over() else FetchError("fetch failed", hint)
