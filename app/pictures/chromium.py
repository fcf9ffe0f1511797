"""The Chromium that takes pictures: finding it, starting it, and the error when it is missing.

Playwright drives it; it is a developer tool, so no server code imports this module.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

#: Overrides the search, for a browser in an unusual place.
CHROMIUM_VARIABLE = "GLASSMQ_CHROMIUM"
PROGRAM_NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
#: Parts of Chromium that are never shown here and take a third of the time in which a page opens: two pages of the
#: address bar and a spare process, created for every window.
_UNSEEN = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess")
#: What Playwright switches off itself, as far as it matters here: Chromium uses only the last list that it is given.
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
#: Root needs no-sandbox. Most of the others keep Chromium from contacting its vendor's hosts in the middle of the work.
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


class NoBrowser(Exception):
    """Pictures cannot be taken on this machine; the text names what to install."""


def find_chromium() -> str | None:
    """Return the path of a Chromium or Chrome on this machine."""
    chosen = os.environ.get(CHROMIUM_VARIABLE)
    if chosen:
        return shutil.which(chosen)
    return next((path for name in PROGRAM_NAMES if (path := shutil.which(name))), None)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Yield a headless Chromium, closed at the end. Raises :class:`NoBrowser`."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise NoBrowser(
            "Pictures are taken with Playwright, one of the developers' tools: pip install 'glassmq[dev]'"
        ) from None
    path = find_chromium()
    if path is None:
        raise NoBrowser(
            "Pictures need a Chromium: install Debian's chromium (sudo apt-get install chromium), "
            f"or set {CHROMIUM_VARIABLE} to the program of a Chromium or Chrome"
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(LAUNCH_ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()
