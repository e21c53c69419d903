"""Views that are loaded with their first request: a service that nobody asks for them spares their memory."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from flask import Response


def lazily(module: str, view: str) -> Callable[[], Response]:
    """Return a view that loads a module and answers as its view of that name does."""

    def load_and_answer() -> Response:
        answer: Response = getattr(import_module(module), view)()
        return answer

    return load_and_answer
