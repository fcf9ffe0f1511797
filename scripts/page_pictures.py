"""Screenshots of the pages in many moments at four sizes, and an ``index.html`` that shows them next to each other.

    .venv/bin/python -m scripts.page_pictures --out /tmp/pages
    .venv/bin/python -m scripts.page_pictures --out /tmp/pages --only lab-list --size phone --theme dark
    .venv/bin/python -m scripts.page_pictures --out docs/images/pages/after --small

A server of its own is started, with a small shop that trades on its broker, and stopped at the end. ``--small`` keeps
what the documents show: small WebP of the most telling ones.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.pictures.chromium import NoBrowser, open_browser
from app.pictures.page_server import PicturePageServer, ServerFailed, own_page_server
from app.pictures.webp import WebpEncoder
from engine.lab.run.spread import silence_logging
from scripts.page_moments import MOMENTS, SIZES, Moment, Size

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SMALL_MAX_BYTES = 40_000
_PATIENCE_MS = 45_000
#: How long the shop trades before the live page is looked at.
_TRADE_S = 25
_STYLE = "body{font:16px sans-serif}img{width:100%;border:1px solid #bbb}td,th{vertical-align:top;padding:8px}"


def main() -> int:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [moment.name for moment in MOMENTS]
    parser.add_argument("--out", type=Path, required=True, help="the folder for the pictures; made when missing")
    parser.add_argument("--only", action="append", choices=names, help="one moment; may be given again")
    parser.add_argument("--size", action="append", choices=[size.name for size in SIZES], help="the same for sizes")
    parser.add_argument("--theme", choices=["light", "dark", "projector"], default="light")
    parser.add_argument("--lang", choices=["en", "zh"], default="en")
    parser.add_argument("--small", action="store_true", help="small WebP for the documents, not every size")
    options = parser.parse_args()
    silence_logging()
    moments = [moment for moment in MOMENTS if not options.only or moment.name in options.only]
    sizes = [size for size in SIZES if not options.size or size.name in options.size]
    # Before the browser is there: while Playwright works, no world may run in this thread.
    paths = {one.name: one.path if isinstance(one.path, str) else one.path() for one in moments}
    options.out.mkdir(parents=True, exist_ok=True)
    trades = False
    try:
        with contextlib.ExitStack() as stack:
            browser = stack.enter_context(open_browser())
            server = stack.enter_context(own_page_server("--allow-faults"))
            encoder = WebpEncoder(browser) if options.small else None
            for moment in moments:
                if moment.is_live and not trades:
                    stack.enter_context(_shop(server))
                    trades = True
                for size in sizes if encoder is None else shown_sizes(moment, sizes):
                    picture = _picture(browser, f"{server.address}{paths[moment.name]}", moment, size, options)
                    if picture is not None:
                        _write(options.out / f"{moment.name}-{size.name}", picture, encoder)
    except (NoBrowser, ServerFailed) as error:
        print(error, file=sys.stderr)
        return 1
    if not options.small:
        write_index(options.out, sizes)
    return 0


def shown_sizes(moment: Moment, sizes: Sequence[Size] = SIZES) -> list[Size]:
    """The sizes at which the documents show it."""
    return [size for size in sizes if size.name in moment.shown]


def _picture(browser: Browser, address: str, moment: Moment, size: Size, options: argparse.Namespace) -> bytes | None:
    """Return the picture as PNG; None where there is no such page. A page that does not finish loading is reported, and
    taken as it is.
    """
    from playwright.sync_api import Error

    before, mark, fragment = address.partition("#")
    query = f"{'&' if '?' in before else '?'}theme={size.theme or options.theme}&lang={options.lang}"
    context = browser.new_context(viewport={"width": size.width, "height": size.height})
    context.set_default_timeout(_PATIENCE_MS)
    try:
        page = context.new_page()
        answer = page.goto(f"{before}{query}{mark}{fragment}")
        if answer is not None and answer.status >= 400:
            print(f"{moment.name}: no such page ({answer.status})")
            return None
        try:
            moment.prepare(page)
        except Error as error:
            print(f"{moment.name} at {size.name}: {str(error).splitlines()[0]}; taken as it stands")
        wide = page.evaluate("document.documentElement.scrollWidth")
        note = f", {wide} pixels wide" if wide > size.width else ""
        print(f"{moment.name} at {size.name}{note}", flush=True)
        return page.screenshot()
    finally:
        context.close()


def _write(path: Path, png: bytes, encoder: WebpEncoder | None) -> None:
    if encoder is None:
        path.with_suffix(".png").write_bytes(png)
    else:
        path.with_suffix(".webp").write_bytes(encoder.encode(png, SMALL_MAX_BYTES))


@contextlib.contextmanager
def _shop(server: PicturePageServer) -> Iterator[None]:
    """The traffic of a small shop on the server's broker, which has gone on for a while."""
    shop = subprocess.Popen([sys.executable, "-m", "tests.e2e.live.shop_traffic", "--name-server", server.name_server])
    try:
        time.sleep(_TRADE_S)
        yield
    finally:
        shop.terminate()
        shop.wait()


def write_index(folder: Path, sizes: Sequence[Size]) -> None:
    """An ``index.html`` of the pictures that are in the folder: a row for each moment, a column for each size."""
    rows = []
    for moment in MOMENTS:
        text = html.escape(moment.text)
        cells = []
        for size in sizes:
            name = f"{moment.name}-{size.name}.png"
            link = f'<a href="{name}"><img src="{name}" loading="lazy" alt="{text}"></a>'
            shown = link if (folder / name).exists() else ""
            cells.append(f'<td style="width:{60 * size.width / size.height:.0f}em">{shown}</td>')
        rows.append(f"<tr><th>{text}</th>{''.join(cells)}</tr>\n")
    heads = "".join(f"<th>{size.name} {size.width}x{size.height}</th>" for size in sizes)
    (folder / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>Moments of the pages</title><style>{_STYLE}</style>\n'
        f"<table><tr><th></th>{heads}</tr>\n{''.join(rows)}</table>\n"
    )


if __name__ == "__main__":
    sys.exit(main())
