"""Why the service sent no answer, in words that hold no address."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

import requests

UNKNOWN_AUTHORITY = (2, 18, 19, 20, 21)  # OpenSSL's codes for a chain that ends in no trusted certificate
_BEFORE = (requests.exceptions.ProxyError, socket.gaierror, ConnectionRefusedError, ssl.SSLError)  # any request

_WORDS: tuple[tuple[type[BaseException], str], ...] = (  # the first that matches: a proxy's failure has a cause, too
    (requests.exceptions.ProxyError, "the proxy named in the environment cannot be reached"),
    (socket.gaierror, "the service's host name cannot be resolved"),
    (ConnectionRefusedError, "the connection was refused: nothing listens at that address"),
    (ssl.SSLError, "no TLS connection could be made: that port may speak plain http"),
    (ConnectionError, "the connection was closed before an answer came"),
)


def reason(error: OSError, ca_variable: str | None) -> str:
    """Return in words what kind of failure this is, from the types of its causes: their texts may contain anything.

    ca_variable: the one that names the trusted authorities, if one does.
    """
    causes = tuple(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            # OpenSSL's own words; after the comma they may name the host.
            words = f"the service's certificate is not trusted ({cause.verify_message.partition(',')[0]})"
            if cause.verify_code not in UNKNOWN_AUTHORITY:
                return words
            advice = f"{ca_variable} names other authorities" if ca_variable else "SSL_CERT_FILE may name its authority"
            return f"{words}; {advice}"
    found = (words for kind, words in _WORDS for cause in causes if isinstance(cause, kind))
    return next(found, "the service cannot be reached")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def may_have_arrived(error: OSError) -> bool:
    """Return whether the service may have got the request: what ended was no attempt to connect."""
    return not any(isinstance(cause, _BEFORE) for cause in _causes(error))
