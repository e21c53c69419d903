"""The servers of one namespace: `python -m tests.world inside|outside CONTROL CERTIFICATES`, until stdin ends."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.world.control import serve
from tests.world.dials import Dials
from tests.world.names import NameServer
from tests.world.network import NAME_SERVER
from tests.world.servers import Servers

INSIDE, OUTSIDE = "secret of the inside", "a page of the outside"
"""What the pages say of which no test has said anything."""


def main(side: str, control: str, certificates: str) -> None:
    """Serve until stdin ends, which it does when the tests do."""
    servers = Servers(Path(certificates), INSIDE if side == "inside" else OUTSIDE)
    names, dials = NameServer(), Dials()
    servers.listen()
    if side == "outside":
        names.serve(NAME_SERVER)

    def forget() -> None:
        servers.forget()
        dials.forget()
        names.queries.clear()

    commands = {
        "pages": servers.pages.__setitem__,
        "stall": servers.stalled.__setitem__,
        "name": names.zone.__setitem__,
        "hits": servers.hits,
        "waiting": servers.waiting,
        "open": servers.open,
        "queries": lambda: names.queries,
        "dials": dials.all,
        "forget": forget,
    }
    serve(Path(control), commands)
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
