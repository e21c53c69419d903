"""`make openapi`: write the document that `GET /openapi.json` gives."""

from __future__ import annotations

from sift.api.openapi import DOCUMENT
from tests.openapi.document import text

if __name__ == "__main__":
    DOCUMENT.write_text(text(), "utf-8")
