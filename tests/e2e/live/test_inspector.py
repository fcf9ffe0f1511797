"""The record inspector: fields and bytes point at each other, with the pointer and with the keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import OpenPage, live, running
from tests.e2e.scenes import small_scene


@pytest.fixture(scope="module")
def inspector(chromium) -> Iterator[Page]:
    """One for all tests: they only look and point."""
    scene = small_scene(lively=False)
    scene.send("orders", "three bears", 1, keys="goldilocks", tags="Tale")
    with running(scene) as address:
        opener = OpenPage(chromium)
        page = live(opener(f"{address}/live"))
        page.locator(".strip .block").last.click()
        expect(page.locator(".field-row")).to_have_count(20)
        yield page
        opener.close()


def chosen_bytes(page: Page) -> str:
    return " ".join(page.locator(".hex-bytes .is-chosen").all_inner_texts())


def test_a_field_marks_its_bytes(inspector):
    inspector.locator("[data-field=MAGICCODE]").hover()
    expect(inspector.locator(".hex-bytes .is-chosen")).to_have_count(4)
    assert chosen_bytes(inspector) == "da a3 20 a7"
    inspector.locator("[data-field=BODY]").hover()
    expect(inspector.locator(".hex-text .is-chosen")).to_have_text(list("three bears"))


def test_separators_between_properties_show_as_dots(inspector):
    expect(inspector.locator("[data-field=PROPERTIES] .field-value")).to_contain_text("KEYS·goldilocks·")


def test_a_byte_marks_its_field(inspector):
    inspector.locator(".hex-bytes [data-byte='5']").hover()
    expect(inspector.locator("[data-field=MAGICCODE]")).to_have_attribute("aria-selected", "true")
    expect(inspector.locator("#hex-announce")).to_contain_text("MAGICCODE")


def test_the_byte_cursor_moves_by_keyboard(inspector):
    inspector.locator(".hex").focus()
    for key in ("Home", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        inspector.keyboard.press(key)
    expect(inspector.locator(".hex-bytes .is-cursor")).to_have_attribute("data-byte", "19")
    expect(inspector.locator("[data-field=FLAG]")).to_have_attribute("aria-selected", "true")


def test_the_field_list_moves_by_keyboard(inspector):
    inspector.locator(".field-list").focus()
    inspector.keyboard.press("End")
    expect(inspector.locator("[data-field=PROPERTIES]")).to_have_attribute("aria-selected", "true")
    inspector.keyboard.press("ArrowUp")
    expect(inspector.locator("[data-field=PROPERTIESLENGTH]")).to_have_attribute("aria-selected", "true")
    expect(inspector.locator(".hex-bytes .is-chosen")).to_have_count(2)


def test_properties_and_body_are_shown(inspector):
    expect(inspector.locator(".property-list")).to_contain_text("goldilocks")
    expect(inspector.locator(".message-body")).to_have_text("three bears")
    expect(inspector.locator("#inspector .facts")).to_contain_text("matches")


def test_an_offset_without_a_record_says_so(serve, open_page):
    page = live(open_page(f"{serve(small_scene(lively=False))}/live?tab=messages"))
    with page.expect_response("**/api/messages/at/17") as answer:
        page.get_by_role("radio", name="Log offset").check()
        page.locator("#search-text").fill("17")
        page.locator("#search-text").press("Enter")
    assert answer.value.status == 404
    expect(page.locator("#inspector .problem")).to_contain_text("No record starts at commit log offset 17")
    open_page.complaints.clear()  # the browser itself logs every 404
