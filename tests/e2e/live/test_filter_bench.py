"""The filter bench: type, see every part, see a mistake marked; and nothing for axe-core to find."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.scenes import empty_scene


@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_expression_shows_what_every_part_of_it_is(serve, open_page, language):
    page = open_page(
        f"{serve(empty_scene())}/filters?lang={language}&expression=age+%3E+5+OR+city+%3D+%27Lyon%27&p=age%3D7"
    )
    expect(page.locator(".verdict.is-match")).to_be_visible()
    expect(page.locator(".truth-tree > .part-true > .part-line code")).to_have_text("(age > 5) OR (city = 'Lyon')")
    expect(page.locator(".part-not-evaluated").first).to_be_visible()
    page.locator(".property input").nth(1).fill("seven")
    expect(page.locator(".part-failure")).to_have_count(1)
    assert findings_in_every_theme(page) == []
    page.locator(".bench-input textarea").fill("age BETWEN 0")
    expect(page.locator(".marked")).to_have_text("  age BETWEN 0\n      ^", use_inner_text=True)
    assert findings_in_every_theme(page, ".bench-result") == []
    page.locator(".bench-tags input").nth(1).fill("Aa")
    expect(page.locator(".tag-table .good-text")).to_have_count(2)
