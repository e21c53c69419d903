"""How good the extraction of text is, measured on pages that are on this machine."""
