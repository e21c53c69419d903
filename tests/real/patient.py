"""Workers that do not do by the clock what tests should not have to wait for, or be quick enough for."""

from __future__ import annotations

from sift.server.worker import Worker


class Patient(Worker):
    """Close no connection before its client does."""

    linger_seconds = 300.0


class Settled(Worker):
    """Stay on its CPU, whoever else uses it."""

    look_every = 3600.0
