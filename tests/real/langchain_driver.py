"""Runs in another Python environment: call its langchain-tavily, one JSON line in, one JSON line out."""

import importlib.metadata
import json
import sys

from langchain_tavily import TavilyExtract, TavilySearch


def call(url: str, key: str, made_with: dict, arguments: dict, tool: str = "search") -> dict:
    try:
        kind = TavilySearch if tool == "search" else TavilyExtract
        answer = kind(tavily_api_key=key, api_base_url=url, **made_with).invoke(arguments)
        # It returns exceptions instead of raising them.
        return {"answer": answer} if "error" not in answer else {"message": str(answer["error"])}
    except Exception as error:  # the kind of error is the result
        return {"error": type(error).__name__, "message": str(error)}


print(json.dumps({"version": importlib.metadata.version("langchain-tavily")}), flush=True)
for line in sys.stdin:
    print(json.dumps(call(**json.loads(line))), flush=True)
