"""The moments of the pages that :mod:`scripts.page_pictures` takes: which page, and what is done on it first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

from engine.lab.run.key_moment import key_moment_of
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario

if TYPE_CHECKING:
    from playwright.sync_api import Page

_SETTLE_MS = 1_500
_WORLD = "#connection[data-status=live]"


class Size(NamedTuple):
    """A window. ``theme``: None for the one that is asked for."""

    name: str
    width: int
    height: int
    theme: str | None = None


SIZES = (
    Size("laptop", 1440, 900),
    Size("projector", 1920, 1080, "projector"),
    Size("tablet", 1024, 768),
    Size("phone", 390, 844),
)


@dataclass(frozen=True, slots=True)
class Moment:
    """A page that is pictured.

    :ivar text: the caption next to the pictures.
    :ivar path: without the server's address; a function where it takes a run to know it.
    :ivar prepare: what is done on the page before the picture is taken.
    :ivar shown: names of the sizes that the documents show.
    """

    name: str
    text: str
    path: str | Callable[[], str]
    prepare: Callable[[Page], None]
    shown: tuple[str, ...] = ()

    @property
    def is_live(self) -> bool:
        """Whether a shop must trade on the broker."""
        return isinstance(self.path, str) and self.path.startswith("/live")


# --- runs ----------------------------------------------------------------------------------------------------------


def _key_moment(name: str) -> Callable[[], str]:
    return lambda: f"/lab/{name}?exact#{key_moment_of(load_scenario(name)).link()}"


def _link_at_ms(name: str, time_ms: int) -> str:
    with LabRun(load_scenario(name), check=False) as run:
        run.run_to_time(time_ms * 1_000)
        return run.link()


def _side_by_side() -> str:
    with_duplicate = key_moment_of(load_scenario("three-locks"))
    left = _link_at_ms("three-locks", with_duplicate.time_us // 1_000)
    runs = f"left={left}&right={with_duplicate.link()}&at={with_duplicate.time_us}"
    return f"/lab/pair?scenario=three-locks#{runs}"


# --- what is done on the pages -------------------------------------------------------------------------------------


def _settle(page: Page) -> None:
    page.wait_for_timeout(_SETTLE_MS)


def _world_stands(page: Page) -> None:
    page.wait_for_selector(_WORLD, state="attached")
    page.wait_for_selector("#stage .node", state="attached")
    page.wait_for_selector("html:not([data-busy=yes])")
    _settle(page)
    page.wait_for_selector("html:not([data-busy=yes])")


def _play(page: Page) -> None:
    _world_stands(page)
    page.locator("#control-play").click()
    _settle(page)


def _present(page: Page) -> None:
    _world_stands(page)
    page.keyboard.press("f")
    _settle(page)


def _come_back(page: Page) -> None:
    """Leave a run that plays, and open its scenario again."""
    _play(page)
    address = page.url.partition("#")[0]
    page.goto(urljoin(address, "/lab"))
    page.goto(address)
    page.wait_for_selector("#continue-run[open]")


def _lose_the_server(page: Page) -> None:
    _world_stands(page)
    page.evaluate(
        "async () => (window.connection = (await import('/static/common/transport.js')).openConnection('/lab'))"
    )
    page.context.set_offline(True)
    page.evaluate("connection.io.engine.close()")
    _settle(page)


def _film_ends(page: Page) -> None:
    page.wait_for_selector(".film")
    while page.locator("#film-next").is_enabled():
        page.locator("#film-next").click()
    page.wait_for_selector(".film[data-over=yes]")
    page.locator(".film").scroll_into_view_if_needed()
    _settle(page)


def _live(page: Page) -> None:
    page.wait_for_selector(_WORLD, state="attached")
    _settle(page)


def _open_menu(page: Page) -> None:
    _live(page)
    page.locator(".head-button:visible").last.click()


def _preview_reset(page: Page) -> None:
    _live(page)
    page.locator(".reader-lag").first.click()
    page.locator("#operator-dialog [name=to]").select_option("earliest")
    _settle(page)


def _break(page: Page, command: str, **fields: str) -> None:
    """Give the server a command of faults, in place of those before."""
    address = urljoin(page.url, "/api/faults")
    page.request.delete(address)
    for kind in ("restart", "disk-free"):  # refused where there is nothing to end
        page.request.post(address, data={"kind": kind, "target": "broker-a"})
    _live(page)  # a picture of the broker from before
    page.request.post(address, data={"kind": command, "target": "broker-a", **fields})
    _live(page)


def _kill(page: Page) -> None:
    _break(page, "crash")
    page.wait_for_selector(".stage-cover")


def _fill_disk(page: Page) -> None:
    _break(page, "disk-full")
    page.wait_for_selector("#verdict[data-level=broken]")  # messages are refused


def _hold_frame(page: Page) -> None:
    _break(page, "fault", what="hold", frame="SEND_MESSAGE_V2")
    page.locator("[data-held]").first.scroll_into_view_if_needed()


def _answer_and_do(page: Page) -> None:
    _world_stands(page)
    page.locator(".dots button").nth(1).click()
    page.locator(".predict-card .choice-row").first.click()
    page.locator("#predict").click()
    page.locator("#do-it").click()
    page.locator("#result").wait_for(state="attached")  # on a phone the stage is shown meanwhile
    page.wait_for_timeout(3 * _SETTLE_MS)


def _both_stand(page: Page) -> None:
    page.wait_for_timeout(4 * _SETTLE_MS)


MOMENTS = (
    Moment("film-end", "The start page when its film is over", "/", _film_ends, ("laptop",)),
    Moment("tutorials", "The lessons", "/tutorials", _settle, ("laptop",)),
    Moment("lab-list", "The list of scenarios", "/lab", _settle, ("laptop",)),
    Moment("continue", "A scenario of which there is a run from before", "/lab/three-locks", _come_back),
    Moment(
        "three-locks-duplicate",
        "The broker lock is off: the same order in two listeners at once",
        _key_moment("three-locks"),
        _world_stands,
        ("laptop", "projector", "phone"),
    ),
    Moment("presented", "The same, presented", _key_moment("three-locks"), _present, ("tablet",)),
    Moment(
        "half-message",
        "A transfer between two banks, its message still half",
        _key_moment("bank-transaction"),
        _world_stands,
        ("laptop",),
    ),
    Moment("given-up", "A half message that was given up", _key_moment("check-max-discard"), _world_stands),
    Moment(
        "disk-arm", "The arm of a disk under ten thousand topics", _key_moment("ten-thousand-topics"), _world_stands
    ),
    Moment("election", "A majority and its leader", _key_moment("majority-log"), _world_stands),
    Moment(
        "big-stage",
        "The stage with the most nodes",
        lambda: f"/lab/big-stage?exact#{_link_at_ms('big-stage', 6_000)}",
        _world_stands,
        ("laptop",),
    ),
    Moment("lost-server", "A scenario whose server is gone", "/lab/three-locks", _lose_the_server),
    Moment("wire-empty", "The page for recorded frames, without a record", "/lab/wire", _settle),
    Moment("pipeline", "The pipeline's page", "/pipeline", _settle, ("laptop",)),
    Moment(
        "lesson",
        "The lesson on the three locks, its first question answered",
        "/tutorials/04-three-locks",
        _answer_and_do,
        ("laptop", "phone"),
    ),
    Moment("lesson-presented", "The same lesson, presented", "/tutorials/04-three-locks", _present),
    Moment(
        "side-by-side", "Two worlds side by side: the broker lock on and off", _side_by_side, _both_stand, ("laptop",)
    ),
    Moment("live", "The live page while a shop trades", "/live", _live, ("laptop", "phone")),
    Moment("live-menu", "A menu of the live page's head", "/live", _open_menu),
    Moment("live-metrics", "The live page's plots", "/live?tab=metrics", _live),
    Moment("live-messages", "The live page's messages", "/live?tab=messages", _live, ("laptop",)),
    Moment("live-reset", "What a reset of offsets would do", "/live", _preview_reset, ("laptop",)),
    Moment("live-held", "A frame that is held", "/live?tab=faults", _hold_frame, ("laptop",)),
    Moment("live-disk-full", "The broker's disk is full", "/live", _fill_disk, ("laptop",)),
    Moment("live-killed", "The broker is killed", "/live", _kill, ("laptop",)),
)
