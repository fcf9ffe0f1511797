"""Takes the picture of the live page for the README: a fresh broker, a shop that trades on it, Chromium.

    .venv/bin/python -m tests.e2e.live.live_picture

A second member of ``billing`` is the unmodified C++ client where the registry gives it, else one more of our own.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from contextlib import suppress
from pathlib import Path

from playwright.async_api import Page, async_playwright

from app.pictures.chromium import LAUNCH_ARGUMENTS, find_chromium
from tests.e2e.conftest import page_address
from tests.e2e.live.shop_traffic import MEMBERS, Member, run_shop
from tests.interop.harness.clients import Clients
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.installs import REPOSITORY, ClientUnavailable

PICTURE = REPOSITORY / "docs" / "images" / "live.png"
#: The small lines under the figures cover a minute; after that the start of the shop has left them.
WARM_UP_S = 75
#: Records that slide into the strip stand still in a picture at their places.
SETTLE = (
    "() => document.querySelectorAll('.strip-item').forEach((item) => item.getAnimations().forEach((a) => a.finish()))"
)


async def photograph(address: str, theme: str, language: str, picture: Path) -> None:
    """Open the page, let a minute pass, save what it shows."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=find_chromium(), args=list(LAUNCH_ARGUMENTS))
        page: Page = await browser.new_page(viewport={"width": 1440, "height": 900})
        await page.goto(f"{address}/live?theme={theme}&lang={language}")
        await asyncio.sleep(WARM_UP_S)
        await page.evaluate(SETTLE)
        await page.screenshot(path=picture)
        await browser.close()


async def trade_and_photograph(
    name_server: str, address: str, members: tuple[Member, ...], options: argparse.Namespace
) -> None:
    shop = asyncio.create_task(run_shop(name_server, members))
    await photograph(address, options.theme, options.language, options.picture)
    shop.cancel()
    with suppress(asyncio.CancelledError):
        await shop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--theme", default="light", choices=["light", "dark", "projector"])
    parser.add_argument("--language", default="en", choices=["en", "zh"])
    parser.add_argument("--name-server-port", type=int, default=9876)
    parser.add_argument("--broker-port", type=int, default=10911)
    options = parser.parse_args()
    options.picture.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        cluster = start_glassmq(Path(folder), options.name_server_port, options.broker_port)
        clients = Clients(cluster, Path(folder))
        members = MEMBERS
        try:
            with suppress(ClientUnavailable):
                clients.cpp("consume", "billing", "orders")
                members = MEMBERS[1:]
            address = page_address(cluster)
            asyncio.run(trade_and_photograph(cluster.name_server, address, members, options))
        finally:
            clients.stop_all()
            cluster.stop()
    print(f"{options.picture}: {options.picture.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
