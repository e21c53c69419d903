"""The store of several hosts: PostgreSQL. Nothing outside may import this at its top: psycopg is an extra."""
