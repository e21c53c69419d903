"""A soak test of a running service: `python -m tests.soak`."""
