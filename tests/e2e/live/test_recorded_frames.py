"""Frames of a real client, recorded on the live page and shown by the lab's."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

from playwright.sync_api import expect

from app.run_files import frames_file
from engine.client import Message
from engine.testkit import GlassMQ
from engine.testkit.failed_test import recorded_frames
from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.conftest import live
from tests.e2e.scenes import empty_scene
from tests.support.live.kit_clients import send
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


def test_a_page_of_the_test_kit_shows_the_broker_s_state_frame_by_frame_and_offers_a_scenario(tmp_path, open_page):
    # Playwright runs an event loop in this thread.
    with GlassMQ(records_frames=True) as glassmq, ThreadPoolExecutor(1) as elsewhere:
        glassmq.create_topic("orders", queues=1)
        elsewhere.submit(send, glassmq, *(Message("orders", b"1", keys=key) for key in ("17", "18"))).result()
        file = tmp_path / "shop.html"
        file.write_text(frames_file(json.dumps(recorded_frames(glassmq)), "shop"), encoding="utf-8")
    page = open_page(file.as_uri())
    queue = page.locator("#node-B1 .wire-state tr", has_text="orders 0")
    expect(queue).to_have_count(0)
    page.keyboard.press("End")
    expect(queue).to_have_text("orders 002")
    page.keyboard.press(",")
    for _ in range(10):
        page.keyboard.press(",")
    expect(queue).to_have_count(0)
    link = page.get_by_role("link", name="Download scenario")
    assert "key: '17', body: '1'" in unquote(link.get_attribute("href"))
    expect(page.locator(".story-text")).to_contain_text("settings of the broker and of the clients")
    assert findings_in_every_theme(page, "#node-B1") == []
