"""A film of a stage as a file: a picture for each moment, encoded by the browser that took them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from app.pictures.stage_camera import NoPicture, StageCamera

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

KINDS = ("gif", "webm")
#: Milliseconds that the last picture stays.
REST_MS = 2_500
#: Prepares the page of a stage; gets the kind of film, its width and height.
OPEN = """async ([kind, width, height]) => {
    const { openRecorder } = await import("/static/lab/film/recorder.js");
    const { view } = await import("/static/common/world/view.js");
    const { standAt } = await import("/static/common/world/session.js");
    window.film = { recorder: openRecorder(kind, width, height), view, standAt };
}"""
#: Milliseconds after which a stage that does not come to its moment is given up.
PATIENCE_MS = 60_000
_STAND = """async ([time, patience]) => {
    const { standAt, view } = window.film;
    const end = performance.now() + patience;
    const next = () => {
        if (performance.now() > end) throw new Error(`the stage stands at ${view.peek().time_us / 1e6} s`);
        return new Promise(requestAnimationFrame);
    };
    while (view.peek().busy !== null) await next();
    standAt(time);
    while (view.peek().time_us !== time || view.peek().busy !== null) await next();
    // Twice: what the page draws follows what it knows.
    await next();
    await next();
}"""
_ADD = "([png, ms]) => window.film.recorder.add(png, ms)"
_FINISH = "() => window.film.recorder.finish()"


def take_film(
    browser: Browser,
    address: str,
    scenario: str,
    link: str,
    times_us: Sequence[int],
    per_second: int,
    kind: str,
    size: tuple[int, int] = (960, 600),
    theme: str = "light",
    language: str = "en",
    report: Callable[[int], None] = lambda _: None,
) -> bytes:
    """Return the film of a run that ends where ``link`` leads. ``report`` is called with the number of each picture.

    Raises :class:`~app.pictures.stage_camera.NoPicture`: a picture that does not come is given up.
    """
    with StageCamera(browser, address, *size, theme=theme, language=language, with_caption=True) as camera:
        page = camera.open(scenario, link)
        page.evaluate(OPEN, [kind, *size])
        for number, time_us in enumerate(times_us, 1):
            stand_at(page, time_us)
            png = base64.b64encode(page.screenshot()).decode()
            page.evaluate(_ADD, [png, REST_MS if number == len(times_us) else 1_000 // per_second])
            report(number)
        return base64.b64decode(page.evaluate(_FINISH))


def stand_at(page: Page, time_us: int) -> None:
    """Let a stage that :data:`OPEN` has prepared show the run at ``time_us``. Raises ``NoPicture``."""
    from playwright.sync_api import Error

    try:
        page.evaluate(_STAND, [time_us, PATIENCE_MS])
    except Error as error:
        raise NoPicture(f"no picture of {time_us / 1e6:g} s: {error.message.splitlines()[0]}") from None
