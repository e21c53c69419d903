"""HTTP: the only place that knows Flask."""
