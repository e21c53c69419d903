"""The domain of Sift: requests, merging, filtering, keys, and the engine that runs them. No HTTP, no vendor."""
