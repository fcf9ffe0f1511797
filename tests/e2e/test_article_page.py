"""An article's page: rows are filtered by keyboard without scripts, fit a phone, and are readable in every theme."""

from __future__ import annotations

from playwright.sync_api import ViewportSize, expect

from app.articles.article_files import load_article
from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.scenes import empty_scene

PHONE = ViewportSize(width=390, height=844)


def test_the_rows_are_filtered_by_keyboard_without_scripts_and_fit_a_phone(serve, open_page):
    article = load_article("idempotence")
    address = f"{serve(empty_scene())}/tutorials/articles/{article.name}"
    page = open_page(address, viewport=PHONE, java_script_enabled=False)
    rows = page.locator(".claim:visible")
    expect(rows).to_have_count(len(list(article.claims())))
    page.locator("#show-all").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(rows).to_have_count(1)
    expect(rows.locator(".claim-id a")).to_have_text("C19")
    expect(page.locator(".article-contents li:visible")).to_have_count(1)

    page = open_page(f"{address}#c12", viewport=PHONE)
    expect(page.locator("#c12")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert findings_in_every_theme(page) == []
