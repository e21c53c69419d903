"""Callers and their keys."""
