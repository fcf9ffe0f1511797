"""Takes pictures of a world's stage: the lab's own page in its embedded form, without controls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_PATIENCE_MS = 60_000
#: The picture has settled when nothing has changed for this number of frames of the screen.
_SETTLE = """async (count) => {
    const stage = document.getElementById("stage");
    const place = (node) => Object.values(node.getBoundingClientRect().toJSON());
    const look = () => [...stage.querySelectorAll(".node")].map(place).join();
    for (let last = "", same = 0; same < count; ) {
        await new Promise(requestAnimationFrame);
        const now = look();
        same = now === last ? same + 1 : 0;
        last = now;
    }
}"""
_CHOOSE = """(theme) => {
    document.documentElement.dataset.theme = theme;
    dispatchEvent(new CustomEvent("themechange"));
    return new Promise(requestAnimationFrame);
}"""


class NoPicture(Exception):
    """A page did not show its stage; the text is what it showed instead."""


class StageCamera:
    """A page of ``width`` by ``height`` CSS pixels with nothing but a stage on it.

    :param with_caption: whether the caption of the moment is in the picture.
    """

    def __init__(
        self,
        browser: Browser,
        address: str,
        width: int,
        height: int,
        theme: str = "light",
        language: str = "en",
        *,
        with_caption: bool = False,
    ) -> None:
        self._address = address.rstrip("/")
        self._query = f"embed=1&exact&theme={theme}&lang={language}"
        self._look = "is-filmed" if with_caption else "is-pictured"
        # Nothing moves by itself: a picture shows exactly its moment.
        self._context = browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce")
        self._context.set_default_timeout(_PATIENCE_MS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.close()

    def open(self, scenario: str, link: str) -> Page:
        """Return the page once it shows the world that ``link`` leads to. Raises :class:`NoPicture`."""
        from playwright.sync_api import Error

        page = self._context.new_page()
        said: list[str] = []
        page.on("pageerror", lambda error: said.append(str(error)))
        try:
            page.goto(f"{self._address}/lab/{scenario}?{self._query}#{link}")
            page.evaluate("look => document.body.classList.add(look)", self._look)
            page.wait_for_selector("#connection[data-status=live]", state="attached")
            page.wait_for_selector("#stage .node")
            # A long way to the moment is gone in steps, each of which is shown.
            page.wait_for_selector("html[data-busy=no]", state="attached")
            page.evaluate(_SETTLE, 20)
        except Error as error:
            why = "; ".join(said) or str(error).splitlines()[0]
            raise NoPicture(f"the page of {scenario} at {self._address} shows no stage: {why}") from None
        return page

    def pictures(self, scenario: str, link: str, themes: Sequence[str]) -> dict[str, bytes]:
        """Return the stage there as PNG, in each of the themes."""
        page = self.open(scenario, link)
        try:
            return {theme: self._in_theme(page, theme) for theme in themes}
        finally:
            page.close()

    @staticmethod
    def _in_theme(page: Page, theme: str) -> bytes:
        page.evaluate(_CHOOSE, theme)
        return page.screenshot()
