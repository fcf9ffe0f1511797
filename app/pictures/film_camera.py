"""A film of a stage as a file: a picture for each moment, encoded by the browser that took them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from app.pictures.stage_camera import StageCamera

if TYPE_CHECKING:
    from playwright.sync_api import Browser

KINDS = ("gif", "webm")
#: Milliseconds that the last picture stays.
REST_MS = 2_500
_OPEN = """async ([kind, width, height]) => {
    const { openRecorder } = await import("/static/lab/film/recorder.js");
    const { view } = await import("/static/common/world/view.js");
    const { standAt } = await import("/static/common/world/session.js");
    window.film = { recorder: openRecorder(kind, width, height), view, standAt };
}"""
_STAND = """async (time) => {
    const { standAt, view } = window.film;
    const next = () => new Promise(requestAnimationFrame);
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
    """Return the film of a run that ends where ``link`` leads. ``report`` is called with the number of each picture."""
    with StageCamera(browser, address, *size, theme=theme, language=language, with_caption=True) as camera:
        page = camera.open(scenario, link)
        page.evaluate(_OPEN, [kind, *size])
        for number, time_us in enumerate(times_us, 1):
            page.evaluate(_STAND, time_us)
            png = base64.b64encode(page.screenshot()).decode()
            page.evaluate(_ADD, [png, REST_MS if number == len(times_us) else 1_000 // per_second])
            report(number)
        return base64.b64decode(page.evaluate(_FINISH))
