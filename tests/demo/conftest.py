"""The demo server over a real loopback socket."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

import sift.demo
from sift.config import SourceConfig
from sift.search.model import Filter, SourceOut
from sift.sources import VENDORS
from tests.vendors import STAND_INS

NO_FILTER = Filter()


class Client:
    """Ask the demo server as the vendors are asked."""

    def __init__(self, base: str) -> None:
        self.base = base
        self.address = (urlsplit(base).hostname or "", urlsplit(base).port or 0)

    def send(
        self, method: str, target: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> tuple[HTTPResponse, bytes]:
        connection = HTTPConnection(*self.address, timeout=30)
        try:
            connection.request(method, target, body, dict(headers or {}))
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def searxng(self, q: str, **parameters: str) -> tuple[int, Any]:
        query = urlencode({"q": q, "format": "json"} | parameters, errors="surrogatepass")
        response, body = self.send("GET", f"/search?{query}")
        return response.status, json.loads(body)

    def brave(self, q: str, headers: Mapping[str, str] | None = None, **parameters: str) -> tuple[int, Any]:
        query = urlencode({"q": q} | parameters, errors="surrogatepass")
        key = {"X-Subscription-Token": "k"} if headers is None else headers
        response, body = self.send("GET", f"/res/v1/llm/context?{query}", key)
        return response.status, json.loads(body)

    def tavily(self, query: object, headers: Mapping[str, str] | None = None, **fields: object) -> tuple[int, Any]:
        key = {"Authorization": "Bearer k"} if headers is None else headers
        body = json.dumps({"query": query} | fields).encode()
        response, answered = self.send("POST", "/tavily/search", key, body)
        return response.status, json.loads(answered)

    def urls(self, vendor: str, text: str) -> list[str]:
        """Return the addresses one vendor finds for a text, in its order."""
        return [hit.url for hit in self.ask(vendor, text).hits]

    def ask(self, vendor: str, text: str, chosen: Filter = NO_FILTER) -> SourceOut:
        """Ask a stand-in by way of the vendor's own source."""
        settings, make = VENDORS[vendor].settings, VENDORS[vendor].make
        url = sift.demo.start(vendor).removesuffix(settings.appends)
        source = make(SourceConfig(settings.name, url, "k"), 1)
        return source.search(text, 20, chosen, deadline=time.monotonic() + 30)


@pytest.fixture(scope="session")
def demo() -> Client:
    for vendor in STAND_INS:
        sift.demo.start(vendor)
    return Client(sift.demo.start("searxng").removesuffix("/search"))
