"""State: answers in memory, credits on disk."""
