"""Screenshots of twelve moments of the pages at four sizes, and an ``index.html`` that shows them side by side.

    .venv/bin/python -m scripts.page_pictures --out /tmp/pages
    .venv/bin/python -m scripts.page_pictures --out docs/images/pages/after --small --only lab-list --only lesson

A server of its own is started, with a small shop trading on its broker, and stopped at the end. ``--small`` keeps what
the documents show: WebP of at most 40 KB, every moment at 1440x900 and the most telling ones at the other sizes.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page
from playwright.sync_api import Error as PageError

from app.pictures.chromium import open_browser
from app.pictures.page_server import PageServer, own_page_server
from app.pictures.webp import WebpEncoder
from engine.lab.run.run import LabRun
from engine.lab.run.spread import be_quiet
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.condition import Condition, ConditionKind
from engine.lab.scenario.scenario_files import load_scenario

#: Name, width, height, theme; None: the theme that is asked for.
SIZES: tuple[tuple[str, int, int, str | None], ...] = (
    ("laptop", 1440, 900, None),
    ("projector", 1920, 1080, "projector"),
    ("tablet", 1024, 768, None),
    ("phone", 390, 844, None),
)
#: Besides every moment on the laptop, what ``--small`` keeps: sizes by moment.
TELLING = {
    "film-end": ("phone",),
    "lab-list": ("tablet", "phone"),
    "three-locks-duplicate": ("projector", "tablet", "phone"),
    "live": ("projector", "phone"),
    "pipeline": ("phone",),
    "lesson": ("phone",),
}
SMALL_MAX_BYTES = 40_000
#: How long the shop trades before the live page is looked at.
_TRADE_MS = 25_000
_SETTLE_MS = 1_500
_PATIENCE_MS = 45_000
_WORLD = "#connection[data-status=live]"


@dataclass(frozen=True, slots=True)
class Moment:
    """What is looked at: a page, and what is done on it first.

    :ivar text: said below the pictures.
    :ivar path: without the server's address; a function where it takes a run to know it.
    """

    name: str
    text: str
    path: str | Callable[[], str]
    prepare: Callable[[Page], None] = lambda page: page.wait_for_timeout(_SETTLE_MS)


# --- runs ----------------------------------------------------------------------------------------------------------


def _until(name: str, condition: Condition) -> Callable[[], str]:
    def path() -> str:
        with LabRun(load_scenario(name), check=False) as run:
            run.run_until(condition, 200_000)
            return f"/lab/{name}?exact#{run.link()}"

    return path


def _at_ms(name: str, time_ms: int) -> Callable[[], str]:
    return _until(name, Condition(ConditionKind.TIME, time_us=time_ms * 1_000))


def _duplicate_link() -> str:
    with LabRun(load_scenario("three-locks")) as run:
        run.run_to_time(3_900_000)
        run.apply(parse_command({"kind": "lock-switch", "target": "B1", "lock": "broker-lock", "on": False}))
        run.stops_at_violations = True
        run.run_events(50_000)
        return run.link()


def _side_by_side() -> str:
    with LabRun(load_scenario("three-locks"), check=False) as run:
        run.run_to_time(5_600_000)
        return f"/lab/pair?left={run.link()}&right={_duplicate_link()}"


# --- what is done on the pages -------------------------------------------------------------------------------------


def _world_stands(page: Page) -> None:
    page.wait_for_selector(_WORLD)
    page.wait_for_selector("#stage .node")
    page.wait_for_timeout(_SETTLE_MS)


def _play(page: Page) -> None:
    _world_stands(page)
    page.locator("#control-play").click()
    page.wait_for_timeout(1_200)


def _film_ends(page: Page) -> None:
    page.wait_for_selector(".film")
    while page.locator("#film-next").is_enabled():
        page.locator("#film-next").click()
    page.wait_for_selector(".film[data-over=yes]")
    page.locator(".film").scroll_into_view_if_needed()
    page.wait_for_timeout(_SETTLE_MS)


def _trade(page: Page) -> None:
    page.wait_for_selector(_WORLD)
    page.wait_for_timeout(_SETTLE_MS)


def _half_a_lesson(page: Page) -> None:
    _world_stands(page)
    page.locator(".dots button").nth(1).click()
    page.locator(".predict-card .choice-row").first.click()
    page.locator("#predict").click()
    page.locator("#do-it").click()
    page.locator("#result").wait_for()
    page.wait_for_timeout(3 * _SETTLE_MS)


MOMENTS = (
    Moment("film-end", "The start page when its film is over", "/", _film_ends),
    Moment("lab-list", "The list of scenarios", "/lab"),
    Moment("three-locks-start", "Three locks, before anything has happened", "/lab/three-locks", _world_stands),
    Moment("three-locks-playing", "Three locks, playing", _at_ms("three-locks", 2_900), _play),
    Moment(
        "three-locks-duplicate",
        "The broker lock is off: the same order in two listeners at once",
        lambda: f"/lab/three-locks?exact#{_duplicate_link()}",
        _world_stands,
    ),
    Moment(
        "half-message",
        "A transfer between two banks, its message still half",
        _until("bank-transaction", Condition(ConditionKind.FRAME, contains="END_TRANSACTION")),
        _world_stands,
    ),
    Moment(
        "dead-letter", "A message on its way to the dead letters", _at_ms("retry-to-dead-letter", 55_000), _world_stands
    ),
    Moment("big-stage", "The stage with the most nodes", _at_ms("big-stage", 6_000), _world_stands),
    Moment("live", "The live page while a shop trades", "/live", _trade),
    Moment("pipeline", "The pipeline's page", "/pipeline"),
    Moment(
        "lesson",
        "The lesson on the three locks, its first question answered",
        "/tutorials/04-three-locks",
        _half_a_lesson,
    ),
    Moment("side-by-side", "Two worlds side by side: the broker lock on and off", _side_by_side),
)


# --- taking them ---------------------------------------------------------------------------------------------------


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="the folder for the pictures; made when missing")
    parser.add_argument(
        "--only", action="append", choices=[moment.name for moment in MOMENTS], help="one moment; may repeat"
    )
    parser.add_argument("--size", action="append", choices=[name for name, *_ in SIZES], help="one size; may repeat")
    parser.add_argument("--theme", choices=["light", "dark"], default="light")
    parser.add_argument("--lang", choices=["en", "zh"], default="en")
    parser.add_argument("--small", action="store_true", help="small WebP for the documents, not every size")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    moments = [moment for moment in MOMENTS if not options.only or moment.name in options.only]
    be_quiet()
    # Before Playwright begins: while it runs, no world may run in this thread.
    paths = {one.name: one.path if isinstance(one.path, str) else one.path() for one in moments}
    with contextlib.ExitStack() as stack:
        browser = stack.enter_context(open_browser())
        server = stack.enter_context(own_page_server())
        if any(moment.name == "live" for moment in moments):
            stack.enter_context(_shop(server))
        encoder = WebpEncoder(browser) if options.small else None
        for moment in sorted(moments, key=lambda moment: moment.name == "live"):
            for size in _wanted_sizes(moment, options.size, options.small):
                _take(browser, server.address + paths[moment.name], moment, size, options, encoder)
    write_index(options.out, [size for size in SIZES if not options.size or size[0] in options.size])


def _wanted_sizes(moment: Moment, only: Sequence[str] | None, small: bool) -> list[tuple[str, int, int, str | None]]:
    sizes = [size for size in SIZES if not only or size[0] in only]
    if small:
        sizes = [size for size in sizes if size[0] == "laptop" or size[0] in TELLING.get(moment.name, ())]
    return sizes


def _take(
    browser: Browser,
    address: str,
    moment: Moment,
    size: tuple[str, int, int, str | None],
    options: argparse.Namespace,
    encoder: WebpEncoder | None,
) -> None:
    name, width, height, theme = size
    before, mark, fragment = address.partition("#")
    query = f"{'&' if '?' in before else '?'}theme={theme or options.theme}&lang={options.lang}"
    context = browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(_PATIENCE_MS)
    try:
        page = context.new_page()
        answer = page.goto(f"{before}{query}{mark}{fragment}")
        if answer is not None and answer.status >= 400:
            print(f"{moment.name}: not there ({answer.status})")
            return
        if moment.name == "live":
            page.wait_for_timeout(_TRADE_MS)
        try:
            moment.prepare(page)
        except PageError as error:
            print(f"{moment.name} at {name}: {str(error).splitlines()[0]}; taken as it stands")
        picture = page.screenshot()
        wide = page.evaluate("document.documentElement.scrollWidth")
        if wide > width:
            print(f"{moment.name} at {name}: {wide} pixels wide")
    finally:
        context.close()
    if encoder is None:
        (options.out / f"{moment.name}-{name}.png").write_bytes(picture)
    else:
        (options.out / f"{moment.name}-{name}.webp").write_bytes(encoder.encode(picture, SMALL_MAX_BYTES))
    print(f"{moment.name} at {name}")


@contextlib.contextmanager
def _shop(server: PageServer) -> Iterator[None]:
    """The traffic of a small shop on the server's broker."""
    command = [sys.executable, "-m", "tests.e2e.live.shop_traffic", "--name-server", server.name_server]
    shop = subprocess.Popen(command)
    try:
        yield
    finally:
        shop.terminate()
        shop.wait()


def write_index(folder: Path, sizes: Sequence[tuple[str, int, int, str | None]]) -> None:
    """An ``index.html`` with the pictures that are in the folder: a row for each moment, a column for each size."""
    rows = []
    for moment in MOMENTS:
        cells = []
        for name, width, height, _ in sizes:
            found = [
                path.name for kind in ("png", "webp") if (path := folder / f"{moment.name}-{name}.{kind}").exists()
            ]
            picture = (
                f'<a href="{found[0]}"><img src="{found[0]}" loading="lazy" alt="{html.escape(moment.text)}"></a>'
                if found
                else ""
            )
            cells.append(f'<td style="width:{100 * width / height:.0f}px">{picture}</td>')
        rows.append(f"<tr><th>{html.escape(moment.text)}</th>{''.join(cells)}</tr>")
    heads = "".join(f"<th>{name} {width}x{height}</th>" for name, width, height, _ in sizes)
    style = "body{font:16px sans-serif}img{width:100%;border:1px solid #bbb}td,th{vertical-align:top;padding:8px}"
    (folder / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>The pages at twelve moments</title><style>{style}</style>'
        f"<table><tr><th></th>{heads}</tr>{''.join(rows)}</table>\n"
    )


if __name__ == "__main__":
    main()
