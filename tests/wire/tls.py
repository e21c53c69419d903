"""The loopback vendors, over TLS."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

from tests.vendors import Vendors

CERTIFICATE = Path(__file__).with_name("loopback.pem")
"""Self-signed, for 127.0.0.1 alone, and good for nothing but these tests."""
PRIVATE = Path(__file__).with_name("private.pem")
"""For 127.0.0.1 too, by the authority of PRIVATE_CA, but without its key identifier, as small authorities do it."""
PRIVATE_CA = Path(__file__).with_name("private-ca.pem")


class TLSVendors(Vendors):
    """Serve the vendors over TLS."""

    def __init__(self, certificate: Path = CERTIFICATE) -> None:
        super().__init__()
        self._certificate = certificate

    def _serve(self, connection: socket.socket) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate)
        try:
            wrapped = context.wrap_socket(connection, server_side=True)
        except OSError:
            connection.close()
        else:
            super()._serve(wrapped)
