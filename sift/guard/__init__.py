"""What may be fetched: the text of a URL, the addresses of its host, the connection made. Nothing here connects.

A URL to fetch comes from whoever wrote the page that a model has read. `url` judges its text, `addresses` knows which
networks are public, `guard` puts both to use before a look-up, after it, and once a socket is connected.
"""
