"""State: the answers kept in memory, the credits kept on disk, the searches under way."""
