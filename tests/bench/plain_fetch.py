"""P, the plain fetch: requests.get and trafilatura.extract in the threads of the service, and nothing else.

It has no guard, no robots.txt, no limits, no child process, no cache, no authentication and no log.
"""

from __future__ import annotations

import requests
import trafilatura
from flask import Flask, Response, jsonify, request

app = Flask("plain", static_folder=None)


@app.post("/v1/search")
def search() -> Response:
    """Return a first answer."""
    return jsonify({})


@app.post("/v1/fetch")
def fetch() -> Response:
    """Return the text of a page."""
    url = request.get_json()["url"]
    answer = requests.get(url, timeout=15)
    answer.raise_for_status()
    content = trafilatura.extract(
        answer.content, output_format="markdown", include_links=True, include_tables=True, with_metadata=True, url=url
    )
    return jsonify({"url": url, "content": content})
