"""Which tests failed in the last run, as pytest keeps them; for ``make test-again``.

Usage: ``python -m scripts.failed_tests MOST``. Prints them and succeeds when there are some and no more than ``MOST``:
a few may have been starved on a busy machine, many are broken.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

#: Where pytest keeps them, from the project's root.
CACHE = Path(".pytest_cache/v/cache/lastfailed")


def failed_tests(cache: Path) -> list[str]:
    """Their names; none when the last run ended before it had any."""
    return sorted(json.loads(cache.read_text())) if cache.exists() else []


def main(most: int) -> int:
    """What the process ends with: 0 when running them again makes sense."""
    failed = failed_tests(CACHE)
    print(f"{len(failed)} failed:", *failed, sep="\n  ")
    return 0 if 0 < len(failed) <= most else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
