"""The twelve moments of the pages that :mod:`scripts.page_pictures` takes: which page, and what is done on it first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from engine.lab.run.key_moment import key_moment_of
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario

if TYPE_CHECKING:
    from playwright.sync_api import Page

_SETTLE_MS = 1_500
#: How long the shop trades before the live page is looked at.
_TRADE_MS = 25_000
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
    :ivar telling: names of the sizes that the documents show in addition to the laptop's.
    """

    name: str
    text: str
    path: str | Callable[[], str]
    prepare: Callable[[Page], None]
    telling: tuple[str, ...] = ()


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
    _settle(page)


def _play(page: Page) -> None:
    _world_stands(page)
    page.locator("#control-play").click()
    _settle(page)


def _film_ends(page: Page) -> None:
    page.wait_for_selector(".film")
    while page.locator("#film-next").is_enabled():
        page.locator("#film-next").click()
    page.wait_for_selector(".film[data-over=yes]")
    page.locator(".film").scroll_into_view_if_needed()
    _settle(page)


def _trade(page: Page) -> None:
    page.wait_for_selector(_WORLD, state="attached")
    page.wait_for_timeout(_TRADE_MS)


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
    Moment("film-end", "The start page when its film is over", "/", _film_ends, ("phone",)),
    Moment("lab-list", "The list of scenarios", "/lab", _settle, ("phone",)),
    Moment("three-locks-start", "Three locks, before anything has happened", "/lab/three-locks", _world_stands),
    Moment(
        "three-locks-playing",
        "Three locks, playing",
        lambda: f"/lab/three-locks?exact#{_link_at_ms('three-locks', 2_900)}",
        _play,
    ),
    Moment(
        "three-locks-duplicate",
        "The broker lock is off: the same order in two listeners at once",
        _key_moment("three-locks"),
        _world_stands,
        ("projector", "tablet", "phone"),
    ),
    Moment(
        "half-message",
        "A transfer between two banks, its message still half",
        _key_moment("bank-transaction"),
        _world_stands,
    ),
    Moment(
        "dead-letter",
        "A message on its way to the dead letters",
        _key_moment("retry-to-dead-letter"),
        _world_stands,
    ),
    Moment(
        "big-stage",
        "The stage with the most nodes",
        lambda: f"/lab/big-stage?exact#{_link_at_ms('big-stage', 6_000)}",
        _world_stands,
    ),
    Moment("live", "The live page while a shop trades", "/live", _trade, ("projector", "phone")),
    Moment("pipeline", "The pipeline's page", "/pipeline", _settle),
    Moment(
        "lesson",
        "The lesson on the three locks, its first question answered",
        "/tutorials/04-three-locks",
        _answer_and_do,
        ("phone",),
    ),
    Moment("side-by-side", "Two worlds side by side: the broker lock on and off", _side_by_side, _both_stand),
)
