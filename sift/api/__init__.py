"""The HTTP layer, the only one that uses Flask."""
