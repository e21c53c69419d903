"""The demo server over a real loopback socket."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

import sift.demo


class Client:
    """Ask the demo server as the three vendors are asked."""

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
        if vendor == "searxng":
            rows = self.searxng(text)[1]["results"]
        elif vendor == "brave":
            rows = self.brave(text)[1]["grounding"]["generic"]
        else:
            rows = self.tavily(text, max_results=20)[1]["results"]
        return [row["url"] for row in rows]


@pytest.fixture(scope="session")
def demo() -> Client:
    return Client(sift.demo.start())
