"""Why a host could not be reached, in words that tell an operator where to look and hold nothing of a request."""

from __future__ import annotations

import socket
import ssl

_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (ssl.SSLCertVerificationError, "certificate"),
    (ssl.SSLError, "tls"),
    (socket.gaierror, "name"),
    (UnicodeError, "name"),
    (ConnectionRefusedError, "refused"),
    (ConnectionError, "reset"),
)


def reason(error: BaseException) -> str:
    """Return `certificate`, `tls`, `name`, `refused` or `reset`; "" if none of them fits."""
    return next((word for kind, word in _REASONS if isinstance(error, kind)), "")
