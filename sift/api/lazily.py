"""Views that are loaded with their first request: a service that nobody asks for them spares their memory."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from flask import Response


def lazily(module: str, view: str) -> Callable[..., Response]:
    """Return a view that loads a module and answers as its view of that name does, which gets what the path holds."""

    def load_and_answer(**values: str) -> Response:
        answer: Response = getattr(import_module(module), view)(**values)
        return answer

    return load_and_answer
