"""What a browser that looks on costs a broker with much to show, for :mod:`tests.benchmarks.scale.scale_run`."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import WebSocket, async_playwright

from app.pictures.chromium import LAUNCH_ARGUMENTS, find_chromium
from tests.interop.harness.process import ManagedProcess

_LOOKS_FOR_S = 10.0


@dataclass(frozen=True)
class PageFigures:
    """:ivar shown_s: from the request to a page with the state on it.
    :ivar snapshot_bytes: the largest push, which is the first.
    :ivar push_bytes, pushes: the middle one of those that came while the page looked on, and how many.
    :ivar cpu_before, cpu_while: cores that the server took without and with the page.
    """

    shown_s: float
    snapshot_bytes: int
    push_bytes: float
    pushes: int
    cpu_before: float
    cpu_while: float

    def sentence(self) -> str:
        return (
            f"The page showed the state after {self.shown_s:.1f} s; the first push had "
            f"{self.snapshot_bytes / 1024:,.0f} KiB, the {self.pushes} of the next {_LOOKS_FOR_S:.0f} s "
            f"{self.push_bytes / 1024:,.1f} KiB (median). The server took {self.cpu_before:.2f} cores without a page "
            f"and {self.cpu_while:.2f} with one."
        )


async def look_at_page(address: str, server: ManagedProcess, picture: Path | None) -> PageFigures:
    """Open the page and look on for a while."""
    cpu_before = await _cores(server)
    sizes: list[int] = []

    def on_websocket(socket: WebSocket) -> None:
        socket.on("framereceived", lambda payload: sizes.append(len(payload)))

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=list(LAUNCH_ARGUMENTS))
        page = await browser.new_page(viewport={"width": 1440, "height": 1000})
        page.on("websocket", on_websocket)
        started = time.monotonic()
        await page.goto(f"{address}/live?lang=en")
        await page.locator("#connection[data-status=live], #connection[data-status=resynced]").wait_for()
        shown_s = time.monotonic() - started
        first, sizes = sizes, []
        cpu_while = await _cores(server)
        if picture is not None:
            await page.screenshot(path=picture, full_page=True)
        await browser.close()
    middle = statistics.median(sizes) if sizes else 0
    return PageFigures(shown_s, max(first, default=0), middle, len(sizes), cpu_before, cpu_while)


async def _cores(server: ManagedProcess) -> float:
    before_s = server.cpu_seconds()
    await asyncio.sleep(_LOOKS_FOR_S)
    return (server.cpu_seconds() - before_s) / _LOOKS_FOR_S
