"""The live page without a mouse."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import live
from tests.e2e.scenes import small_scene


@pytest.fixture
def page(serve, open_page):
    scene = small_scene(lively=False)
    for number in range(6):
        scene.send("orders", f"letter {number}", number % 4)
    return live(open_page(f"{serve(scene)}/live"))


def focused(page) -> str:
    return page.evaluate("document.activeElement.id || document.activeElement.className")


def test_from_opening_the_page_to_the_bytes_of_a_record(page):
    page.keyboard.press("n")
    expect(page.locator(".strip .block:focus")).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.locator("#inspector .message-body")).to_have_text("letter 4")
    for _ in range(3):  # the close button has the focus; then the fields, then the bytes
        if "hex" in focused(page):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#hex-announce")).to_contain_text("TOTALSIZE")
    page.keyboard.press("Escape")
    expect(page.locator("#inspector")).not_to_be_visible()
    assert "block" in focused(page)


def test_single_keys_pause_filter_and_open_tabs(page):
    page.keyboard.press("p")
    expect(page.locator("#connection")).to_have_attribute("data-status", "paused")
    page.keyboard.press("p")
    page.keyboard.press("3")
    expect(page.get_by_role("tab", name="Messages")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#topic-filter")).to_be_focused()
    page.keyboard.type("pause")  # typed, not obeyed
    expect(page.locator("#connection")).not_to_have_attribute("data-status", "paused")
    expect(page.locator("#topic-filter")).to_have_value("pause")


def test_the_key_map_lists_the_keys_and_switches_them_off(page):
    page.keyboard.press("?")
    expect(page.locator("#key-map")).to_contain_text("Pause or resume this view")
    page.get_by_label("Use single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    page.keyboard.press("?")
    expect(page.locator("#key-map")).not_to_be_visible()
    expect(page.locator("#connection")).not_to_have_attribute("data-status", "paused")


def test_every_stop_of_the_tab_key_shows_where_the_focus_is(page):
    unmarked = []
    for _ in range(45):
        page.keyboard.press("Tab")
        state = page.evaluate(
            """() => { const at = document.activeElement, style = getComputedStyle(at);
                 const shown = at.matches('.segmented input') ? getComputedStyle(at.nextElementSibling) : style;
                 return [at.outerHTML.slice(0, 120), shown.boxShadow !== 'none' || shown.outlineStyle !== 'none']; }"""
        )
        if not state[1] and not state[0].startswith("<body"):
            unmarked.append(state[0])
    assert unmarked == []
