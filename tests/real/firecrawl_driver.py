"""Runs in another Python environment: call its Firecrawl SDK, one JSON line in, one JSON line out."""

import json
import sys

import firecrawl
from firecrawl import Firecrawl


def call(url: str, key: str | None, arguments: dict, method: str = "search") -> dict:
    try:
        data = getattr(Firecrawl(api_key=key, api_url=url), method)(**arguments)
        if method == "scrape":
            return {"document": data.model_dump(mode="json")}
        if "batch" in method:
            return {"batch": data if isinstance(data, bool) else data.model_dump(mode="json")}
        web = None if data.web is None else [item.model_dump() for item in data.web]
        return {"web": web, "kinds": sorted({type(item).__name__ for item in data.web or []})}
    except Exception as error:  # the kind of error is the result
        return {"error": type(error).__name__, "message": str(error)}


print(json.dumps({"version": firecrawl.__version__}), flush=True)
for line in sys.stdin:
    print(json.dumps(call(**json.loads(line))), flush=True)
