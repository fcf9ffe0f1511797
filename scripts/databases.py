"""Redis, PostgreSQL and MariaDB for the tests: ``python -m scripts.databases``.

In continuous integration it installs what is missing from Debian's packages. A developer's machine only gets a list of
what to install: the packages start servers of their own with the machine.
"""

from __future__ import annotations

import os
import sys

from app.databases.real_servers import REAL_SERVERS
from scripts import debian_packages


def missing_packages() -> list[str]:
    """Debian packages without which tests are skipped; empty when all is well."""
    return [server.package for server in REAL_SERVERS if server.missing() is not None]


def main() -> None:
    """Run as a script. Succeeds without them, too: the tests that need one are then skipped by name."""
    if os.environ.get("CI") and debian_packages.can_install() and (missing := missing_packages()):
        debian_packages.install(*missing)
    if missing := missing_packages():
        advice = f"sudo apt-get install --no-install-recommends {' '.join(missing)}"
        print(
            f"Tests over real databases will be skipped: they need {' and '.join(missing)} ({advice}).", file=sys.stderr
        )


if __name__ == "__main__":
    main()
