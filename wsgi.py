"""The WSGI entry point: `gunicorn -c python:sift.gunicorn_conf wsgi:app`."""

import sys

from sift.app import build_services, create_app
from sift.errors import ConfigError
from sift.log import refuse_start
from sift.server.start import start

try:
    _start = start()
    app = create_app(
        services=build_services(_start.config, _start.keys, _start.mark, _start.cpus, lambda: _start.headcount.size)
    )
except ConfigError as error:
    refuse_start(str(error))
    sys.exit(3)  # gunicorn ends when a worker exits with 3, and respawns it for ever after any other code
