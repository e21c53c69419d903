"""Sift's tools over the Model Context Protocol: a client of the service, and the only part that knows the SDK."""
