"""F, the floor: a bare Flask view that returns ready bytes, those of Sift's cached answer (FLOOR_BODY names the file).

No authentication, no log, no look at the request.
"""

from __future__ import annotations

import os
from pathlib import Path

from flask import Flask, Response

_BODY = Path(os.environ["FLOOR_BODY"]).read_bytes()

app = Flask("floor", static_folder=None)


@app.post("/v1/search")
def search() -> Response:
    """Answer."""
    return Response(_BODY, mimetype="application/json")
