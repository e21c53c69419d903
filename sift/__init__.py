"""Sift: a private search gateway for LLM agents."""

__version__ = "0.1.0"
