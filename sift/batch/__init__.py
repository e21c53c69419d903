"""Batches: up to a hundred pages, opened durably and politely."""
