"""Chromium for the tests that drive the page: where it is, how to start it, how to get it.

Run as a script it installs what is missing from Debian's packages (by root), or says in one line what to install.
Playwright's own browser builds are not used: a package of the distribution gets its security updates.
"""

from __future__ import annotations

import ctypes
import sys

from app.pictures.chromium import CHROMIUM_VARIABLE, find_chromium
from scripts import debian_packages


def missing_packages() -> list[str]:
    """The Debian packages without which no browser test can run here; empty when all is well."""
    missing = [] if find_chromium() else ["chromium"]
    if sys.platform == "linux":
        try:
            ctypes.CDLL("libatomic.so.1")  # Playwright's driver is linked against it
        except OSError:
            missing.append("libatomic1")
    return missing


def how_to_get(packages: list[str]) -> str:
    """What a person does about ``packages``, in one line."""
    advice = f"they need Debian's {' and '.join(packages)} (sudo apt-get install {' '.join(packages)})"
    if "chromium" in packages:
        advice += f", or {CHROMIUM_VARIABLE} set to the program of a Chromium or Chrome"
    return advice


def main() -> None:
    """Run as a script. Succeeds without a browser too: the tests that need one are then skipped by name."""
    if (missing := missing_packages()) and debian_packages.can_install():
        debian_packages.install(*missing)
    if missing := missing_packages():
        print(f"The browser tests will be skipped: {how_to_get(missing)}.", file=sys.stderr)


if __name__ == "__main__":
    main()
