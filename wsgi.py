"""The WSGI entry point: `gunicorn -c python:sift.gunicorn_conf wsgi:app`."""

import sys

from sift.app import create_app
from sift.errors import ConfigError

try:
    app = create_app()
except ConfigError as error:
    print(f"sift: {error}", file=sys.stderr)
    sys.exit(
        3
    )  # gunicorn takes a worker's 3 as "failed to boot" and ends; any other code it would start again, for ever
