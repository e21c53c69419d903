"""Opening pages: what a guarded fetch brings, and the readable text in it."""
