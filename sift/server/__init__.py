"""Sift under gunicorn: the worker, its limits and its messages. sift/gunicorn_conf.py puts them together."""
