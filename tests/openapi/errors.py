"""The error responses of the routes, in the forms of the three doors."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, NamedTuple

from sift.api.errors import _FETCH_HINTS if False else None
