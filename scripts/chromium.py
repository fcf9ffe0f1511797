"""Chromium for the tests that drive the page: where it is, how to start it, how to get it.

Run as a script it installs what is missing from Debian's packages (by root), or says in one line what to install.
Playwright's own browser builds are not used: a package of the distribution gets its security updates.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys

from scripts import debian_packages

#: Overrides the search, for a browser in an unusual place.
CHROMIUM_VARIABLE = "GLASSMQ_CHROMIUM"
PROGRAM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
#: Parts of Chromium that no test looks at and that cost a third of the time in which a page opens: two pages behind the
#: address bar and a process in reserve, made anew for every window.
_UNSEEN = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess")
#: What Playwright switches off itself, as far as it matters here: Chromium heeds only the last list that it is given.
_SWITCHED_OFF_BY_PLAYWRIGHT = (
    "AimEnabled",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
#: Root needs no-sandbox. Most others keep Chromium from calling its maker's hosts in the middle of a test.
LAUNCH_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join((*_SWITCHED_OFF_BY_PLAYWRIGHT, *_UNSEEN))}",
)


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome on this machine."""
    chosen = os.environ.get(CHROMIUM_VARIABLE)
    if chosen:
        return shutil.which(chosen)
    return next((path for name in PROGRAM_NAMES if (path := shutil.which(name))), None)


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
