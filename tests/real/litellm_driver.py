"""Runs in another Python environment: search with its LiteLLM, one JSON line in, one JSON line out."""

import importlib.metadata
import json
import sys

import litellm


def call(url: str, key: str, arguments: dict, provider: str = "tavily") -> dict:
    try:
        found = litellm.search(search_provider=provider, api_base=url, api_key=key, **arguments)
        return {"results": [each.model_dump() for each in found.results]}
    except Exception as error:  # the kind of error is the result
        return {"error": type(error).__name__, "message": str(error)}


print(json.dumps({"version": importlib.metadata.version("litellm")}), flush=True)
for line in sys.stdin:
    print(json.dumps(call(**json.loads(line))), flush=True)
