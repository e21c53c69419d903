"""Runs in another Python environment: call its tavily-python, one JSON line in, one JSON line out."""

import importlib.metadata
import inspect
import json
import sys

import tavily


def call(url: str, key: str, arguments: dict, method: str = "search") -> dict:
    try:
        if "api_base_url" in inspect.signature(tavily.TavilyClient.__init__).parameters:
            client = tavily.TavilyClient(api_key=key, api_base_url=url)
        else:
            client = tavily.TavilyClient(api_key=key)
            client.base_url = url
        return {"answer": getattr(client, method)(**arguments)}
    except Exception as error:  # the kind of error is the result
        return {"error": type(error).__name__, "message": str(error)}


print(json.dumps({"version": importlib.metadata.version("tavily-python")}), flush=True)
for line in sys.stdin:
    print(json.dumps(call(**json.loads(line))), flush=True)
