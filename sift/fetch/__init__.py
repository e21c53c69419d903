"""Opening a page that a caller names: through the guard, within limits, as readable text."""
