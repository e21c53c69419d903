"""What `make openapi` makes sift/api/openapi.json of: the descriptions of the fields, and those of answers and errors."""
