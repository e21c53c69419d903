"""The form of a batch's id."""

from __future__ import annotations

import re

BATCH_ID = re.compile(r"b_[a-z2-7]{26}")
"""`b_` and 128 random bits in base32."""
