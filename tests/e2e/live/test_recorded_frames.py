"""Frames of a real client, recorded on the live page and shown by the lab's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.conftest import live
from tests.e2e.scenes import empty_scene
from tests.support.live.live_server import LiveServer, message


def test_what_a_client_says_is_drawn_while_it_is_recorded_and_opens_in_the_lab_to_the_byte(tmp_path, open_page):
    with LiveServer(tmp_path, allow_faults=True) as server, ThreadPoolExecutor(1) as elsewhere:
        page = live(open_page(f"http://{server.server.page_address}/live?tab=faults"))
        panel = page.locator("#faults")
        panel.get_by_role("button", name="Record", exact=True).click()
        expect(panel.locator(".wire-strip")).to_be_visible()
        elsewhere.submit(server.send, message("orders", "hello", keys="k1")).result()
        expect(panel.locator(".wire-strip")).to_contain_text("P1")
        assert findings_in_every_theme(page, "#faults") == []
        panel.get_by_role("button", name="Stop", exact=True).click()
        expect(panel.locator(".wire-strip")).to_have_count(0)
        panel.get_by_role("link", name="in the lab").click()
        expect(page.locator("#node-P1")).to_contain_text("real client that sends")
        page.keyboard.press("End")
        expect(page.locator("#node-P1")).not_to_contain_text("sent 0 frames")
        expect(page.locator("#node-B1")).to_contain_text("broker-a")


def test_without_a_record_the_page_asks_for_a_file_in_its_own_look(serve, open_page):
    page = open_page(f"{serve(empty_scene())}/lab/wire")
    expect(page.locator("main")).to_have_count(1)
    assert page.locator("main h1").bounding_box()["x"] > 20
    expect(page.locator(".wire-form .form-row")).to_have_css("display", "grid")
    assert findings_in_every_theme(page) == []
