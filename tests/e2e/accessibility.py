"""Themes of a page that is open, and axe-core over the page as it stands."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
from playwright.sync_api import Page

THEMES = ("light", "dark", "projector")

_AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
_RUN = """async ([within, options]) =>
  (await axe.run(within || document, { resultTypes: ['violations'], ...options })).violations"""
#: Two frames: the first begins what the change of the theme sets in motion. What never ends is not waited for.
_CHOOSE_THEME = """async (theme) => {
  window.glassmqTheme.choose(theme);
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  const ending = document.getAnimations().filter((one) => Number.isFinite(one.effect.getComputedTiming().endTime));
  await Promise.allSettled(ending.map((one) => one.finished));
}"""


def choose_theme(page: Page, theme: str) -> None:
    """What the choice in the page's header does; this way it works while a dialog is open too."""
    page.evaluate(_CHOOSE_THEME, theme)


def findings(page: Page, within: str = "", **options: object) -> list[str]:
    """What axe finds, in the whole page or in one element of it; ``options`` are those of ``axe.run``."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_AXE)
    violations = page.evaluate(_RUN, [within, options])
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:160]} {node['failureSummary']}"
        for one in violations
        for node in one["nodes"][:3]
    ]


def findings_in_every_theme(page: Page, within: str = "") -> list[str]:
    """What axe finds in each theme, without loading the page again; at the end the page has the first one.

    ``within`` is what has changed since the rest of the page was looked at: a whole page takes axe a second. The one
    rule that needs the text of all style sheets ("preload") is about ``@media (orientation)``, the same in all.
    """
    found = []
    for theme in THEMES:
        choose_theme(page, theme)
        found += [f"{theme}: {one}" for one in findings(page, within, preload=theme == THEMES[0])]
    choose_theme(page, THEMES[0])
    return found
