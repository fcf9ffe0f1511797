"""How a client of the soak says what happened: one line of JSON per event on standard output."""

from __future__ import annotations

import json
import os
from typing import Any


def report(**event: Any) -> None:
    """One ``write`` call per line."""
    os.write(1, (json.dumps(event) + "\n").encode())
