"""The store of one host: SQLite files in the state directory."""
