"""Faults, hostile callers, load and crashes on a running service, for minutes: `python -m tests.soak`."""
