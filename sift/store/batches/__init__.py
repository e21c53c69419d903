"""Batches as rows: tables and statements that both engines understand."""
