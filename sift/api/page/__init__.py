"""The page for people: static files, which need no key and hold nothing secret (contract: Page)."""

from __future__ import annotations

from flask import Blueprint

from sift.api.lazily import lazily

FILES = {"/": "index.html", "/page.css": "page.css", "/page.js": "page.js", "/icon.svg": "icon.svg"}
"""The files by their paths."""

bp = Blueprint("page", __name__)
for _path, _name in FILES.items():
    bp.add_url_rule(_path, _name.replace(".", "_"), lazily("sift.api.page.files", "show"), defaults={"name": _name})
