"""The readable text of a page, found by child processes: no extractor is safe in the serving process."""
