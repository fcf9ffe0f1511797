"""The searches of glossary and lessons: by every name of a term, in each language of the page."""

from __future__ import annotations

import pytest
from playwright.sync_api import ViewportSize, expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.scenes import empty_scene

PHONE = ViewportSize(width=390, height=844)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_lessons_are_found_by_every_name_of_a_term_in_each_language(serve, open_page, language):
    page = open_page(f"{serve(empty_scene())}/tutorials?lang={language}")
    shown = page.locator(".lesson-item:visible")
    everything = shown.count()
    found = set()
    for name in ("rebalance", "重平衡", "再平衡"):
        page.locator("#search").fill(name)
        expect(page.locator("#found")).not_to_be_empty()
        found.add(tuple(row.get_attribute("data-lesson") for row in shown.all()))
    assert len(found) == 1
    assert "02-groups-and-rebalance" in next(iter(found))
    page.locator("#search").fill("no such word")
    expect(shown).to_have_count(0)
    page.locator("#show-all").click()
    expect(shown).to_have_count(everything)
    expect(page.locator("#search")).to_be_focused()


def test_the_glossary_is_searched_fits_a_phone_and_has_nothing_for_axe(serve, open_page):
    page = open_page(f"{serve(empty_scene())}/glossary?q=2PC", viewport=PHONE)
    expect(page.locator(".term:visible")).to_have_count(1)
    expect(page.locator("#two-phase-commit")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert findings_in_every_theme(page) == []
