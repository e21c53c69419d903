"""The loopback vendors, over TLS."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from tests.vendors import Vendors

CERTIFICATE = Path(__file__).with_name("loopback.pem")
"""Self-signed, for 127.0.0.1 alone, and good for nothing but these tests."""


class TLSVendors(Vendors):
    """Serve the vendors over TLS."""

    def _serve(self, connection: socket.socket) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATE)
        try:
            wrapped = context.wrap_socket(connection, server_side=True)
        except OSError:
            connection.close()
        else:
            super()._serve(wrapped)
