"""Whether an address can be listened on, found out before gunicorn tries it five times."""

from __future__ import annotations

import socket


def obstacle(address: tuple[str, int]) -> str:
    """Return why nobody can listen on a host and port, in the system's words; "" when it is possible."""
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
    except OverflowError:
        return "Port number out of range"
    except OSError as error:
        return error.strerror or "Invalid address"
    return ""
