"""A key file as the tests write it, and the valid key in it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

NOW = datetime(2026, 9, 29, 12, tzinfo=UTC)
SECRET = "_-" + "s" * 40 + "_"  # 43 characters, with underscores where a naive split would break
TOKEN = f"sift_abcdefgh_{SECRET}"
ENTRY = {
    "id": "abcdefgh",
    "name": "bot",
    "class": "restricted",
    "sha256": sha256(SECRET.encode()).hexdigest(),
    "created": "2026-09-01T00:00:00Z",
}


def put(path: Path, content: object, mode: int = 0o600) -> None:
    """Replace the key file as an editor does: bytes verbatim, anything else as JSON."""
    draft = path.with_suffix(".draft")
    draft.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    draft.chmod(mode)
    draft.replace(path)
