"""`sift worker`: a process of its own that works on batches (contract: Batch work)."""

from __future__ import annotations

import click


@click.command(short_help="Work on batches, in a process of its own.")
def worker() -> None:
    """Open the pages of batches in a process of its own, until SIGTERM or Ctrl-C, which give back what is under way.

    It reads the settings of the service, and needs its store: with files in the state directory it runs on the same
    host as the service and as its user, with SIFT_STORE_URL on any. SIFT_BATCH_WORKERS says how many pages it opens at
    a time; with 0, by which a service leaves the work to such processes, it is the default. The log goes to stderr.

    Exit codes: 0 it was stopped; 2 a setting is wrong, and stderr says which.
    """
    # Imported late: it is the whole service.
    from sift.server.work import work

    work()
