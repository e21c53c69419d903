"""What `make openapi` makes sift/api/openapi.json of: the fields as they are described, and answers and errors."""
