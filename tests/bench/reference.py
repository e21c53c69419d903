"""R, the reference: a straightforward implementation of Sift's uncached path, with the same duties.

A shared Session with a connection for every call, a shared executor, a marshmallow schema, a TTL cache, the merge of
baseline.py, jsonify. It has no deadline, no ledger, no breaker, no single flight, no authentication and no log.
"""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import requests
from cachetools import TTLCache
from flask import Flask, Response, jsonify, request
from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate
from requests.adapters import HTTPAdapter

from tests.bench.baseline import Hit, brave_hits, merge_queries, on_domain, searxng_hits, tavily_hits

TIMEOUT = 8
THREADS = int(os.environ["SIFT_THREADS"])
NAMES = ("searxng", "brave_llm", "tavily")


class SearchSchema(Schema):
    """The fields of a request."""

    class Meta:
        unknown = EXCLUDE

    query = fields.String(validate=validate.Length(1, 1500))
    queries = fields.List(fields.String(validate=validate.Length(1, 1500)), validate=validate.Length(1, 4))
    k = fields.Integer(load_default=8, validate=validate.Range(1, 50))
    rerank = fields.Boolean(load_default=True)
    digest = fields.Boolean(load_default=False)
    include_domains = fields.List(fields.String(), load_default=list, validate=validate.Length(max=20))
    exclude_domains = fields.List(fields.String(), load_default=list, validate=validate.Length(max=20))
    include_domains_mode = fields.String(
        load_default="restrict", validate=validate.OneOf(["restrict", "prefer"])
    )  # fmt: skip
    time_range = fields.String(validate=validate.OneOf(["day", "week", "month", "year", "d", "w", "m", "y"]))
    start_date = fields.Date()
    end_date = fields.Date()
    topic = fields.String(load_default="general", validate=validate.OneOf(["general", "news", "finance"]))
    exact_match = fields.Boolean(load_default=False)
    min_score = fields.Float(load_default=0.0, validate=validate.Range(0, 1))


app = Flask("reference", static_folder=None)
app.json.sort_keys = False  # type: ignore[attr-defined]
session = requests.Session()
session.trust_env = False
session.mount("http://", HTTPAdapter(pool_maxsize=THREADS * len(NAMES)))
executor = ThreadPoolExecutor(THREADS * len(NAMES))
cache: TTLCache[str, dict[str, Any]] = TTLCache(2048, 3600)
cache_lock = threading.Lock()


def ask_searxng(query: str, search: dict[str, Any]) -> list[Hit]:
    """Ask SearXNG."""
    params = {"q": query, "format": "json"}
    return searxng_hits(_get(os.environ["SIFT_SEARXNG_URL"] + "/search", params, {}))


def ask_brave(query: str, search: dict[str, Any]) -> list[Hit]:
    """Ask Brave."""
    headers = {"X-Subscription-Token": os.environ["SIFT_BRAVE_API_KEY"]}
    return brave_hits(_get(os.environ["SIFT_BRAVE_URL"], {"q": query}, headers))


def ask_tavily(query: str, search: dict[str, Any]) -> list[Hit]:
    """Ask Tavily."""
    body = {"query": query, "search_depth": "basic", "max_results": 20, "include_answer": False}
    body |= {name: search[name] for name in ("include_domains", "exclude_domains") if search[name]}
    headers = {"Authorization": "Bearer " + os.environ["SIFT_TAVILY_API_KEY"]}
    response = session.post(
        os.environ["SIFT_TAVILY_URL"], json=body, headers=headers, timeout=TIMEOUT, allow_redirects=False
    )
    response.raise_for_status()
    return tavily_hits(response.json())


def _get(url: str, params: dict[str, str], headers: dict[str, str]) -> Any:
    response = session.get(url, params=params, headers=headers, timeout=TIMEOUT, allow_redirects=False)
    response.raise_for_status()
    return response.json()


@app.post("/v1/search")
def search() -> Response | tuple[Response, int]:
    """Search all sources."""
    try:
        wanted: dict[str, Any] = dict(SearchSchema().load(request.get_json(force=True)))
    except ValidationError as error:
        return jsonify(error="invalid search", hint=next(iter(error.messages_dict))), 400
    key = json.dumps(wanted, sort_keys=True, default=str)
    with cache_lock:
        found = cache.get(key)
    if found is None:
        found = answer(wanted)
        with cache_lock:
            cache[key] = found
        return jsonify(found)
    return jsonify({**found, "cached": True})


def answer(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the answer: ask the sources of each query in parallel, filter, merge."""
    queries = wanted.get("queries") or [wanted["query"]]
    lists: list[list[list[Hit]]] = []
    for query in queries:
        calls: list[Future[list[Hit]]] = [
            executor.submit(ask, query, wanted) for ask in (ask_searxng, ask_brave, ask_tavily)
        ]
        lists.append([[hit for hit in call.result() if may_stay(hit, wanted)] for call in calls])
    hits = merge_queries(lists, wanted["k"])
    return {
        "queries": queries,
        "results": [shown(hit) for hit in hits],
        "sources_ok": NAMES,
        "sources_failed": [],
        "warnings": [],
        "cached": False,
    }


def may_stay(hit: Hit, wanted: dict[str, Any]) -> bool:
    """Whether a hit passes the domain filters."""
    if not wanted["include_domains"] and not wanted["exclude_domains"]:
        return True
    host = urlsplit(hit.url).hostname or ""
    included = not wanted["include_domains"] or on_domain(host, wanted["include_domains"])
    return included and not on_domain(host, wanted["exclude_domains"])


def shown(hit: Hit) -> dict[str, Any]:
    """Return the JSON form of a hit; an unknown date has no key."""
    form = dict(vars(hit))
    if not hit.published_date:
        del form["published_date"]
    return form
