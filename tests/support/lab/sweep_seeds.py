"""How many random fates the sweeps try: few in ``make test``, a thousand of each in continuous integration."""

from __future__ import annotations

import os


def sweep_seeds(usual: int) -> int:
    """``usual``, or what ``GLASSMQ_SWEEP_SEEDS`` says."""
    return int(os.environ.get("GLASSMQ_SWEEP_SEEDS", str(usual)))
