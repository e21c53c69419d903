"""The parts of requests that calls go through, without what requests would load for more.

It guesses the encoding of texts with a library of its own, which takes 1.6 MiB. Nothing here is guessed: JSON is UTF-8.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_GUESSERS = ("chardet", "charset_normalizer")


@contextmanager
def _without(*names: str) -> Iterator[None]:
    """Have modules count as not installed, unless they are loaded already; afterwards whoever wants them gets them."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: an import of it fails
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # requests says what it lacks
        try:
            yield
        finally:
            for name in hidden:
                del sys.modules[name]


with _without(*_GUESSERS):
    from requests import PreparedRequest, Response
    from requests.adapters import HTTPAdapter
    from requests.exceptions import ConnectionError as RequestConnectionError
    from requests.exceptions import Timeout as RequestTimeout

__all__ = ["HTTPAdapter", "PreparedRequest", "RequestConnectionError", "RequestTimeout", "Response"]
