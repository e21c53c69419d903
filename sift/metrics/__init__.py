"""Metrics for Prometheus: what is counted and kept in files that all workers share, and read back for a scrape."""
