"""The WSGI entry point: `gunicorn -c python:sift.gunicorn_conf wsgi:app`."""

import sys

from sift.app import create_app
from sift.errors import ConfigError

try:
    app = create_app()
except ConfigError as error:
    print(f"sift: {error}", file=sys.stderr)
    sys.exit(3)  # gunicorn ends when a worker exits with 3, and respawns it for ever after any other code
