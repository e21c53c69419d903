"""F, the floor: a bare Flask view that returns the bytes of Sift's cached answer, from the file in FLOOR_BODY.

It neither authenticates, logs nor reads the request.
"""

from __future__ import annotations

import os
from pathlib import Path

from flask import Flask, Response

_BODY = Path(os.environ["FLOOR_BODY"]).read_bytes()

app = Flask("floor", static_folder=None)


@app.post("/v1/search")
def search() -> Response:
    """Return the body."""
    return Response(_BODY, mimetype="application/json")
