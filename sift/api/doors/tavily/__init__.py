"""Tavily's API as its clients use it: search and extract (contract: Tavily door)."""
