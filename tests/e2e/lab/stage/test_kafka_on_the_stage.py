"""Kafka's nodes on the stage, and one of its frames down to the byte."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import opened, run_to_ms, show_panel
from tests.e2e.scenes import empty_scene


def test_a_fetch_is_followed_from_the_request_to_the_record_and_its_frame_opened(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/completed-fetches", reduced_motion="reduce"))
    run_to_ms(page, 1_260)
    consumer = page.locator("[data-node=C1]")
    expect(consumer.locator("[data-stage=completed] .chip").first).to_contain_text("6 / 12")
    expect(consumer.locator("[data-stage=polled] .chip-call")).to_contain_text("order-12")
    expect(consumer.locator(".kafka-positions tbody tr").first).to_contain_text("63")
    expect(page.locator("[data-node=K1] [data-queue='Orders@0'] [data-batch='0']")).to_contain_text("12")
    assert findings_in_every_theme(page) == []

    show_panel(page, "frames")
    page.locator(".frame-row", has_text="reply to FETCH").first.click()
    dialog = page.locator("#frame-dialog")
    checksum = dialog.locator(".frame-leaf", has_text="checksum").first
    expect(checksum).to_be_hidden()
    dialog.locator("[data-byte='90']").first.click()
    expect(dialog.locator(".frame-leaf.is-chosen")).to_be_visible()
    expect(checksum).to_be_visible()
    assert findings_in_every_theme(page, "#frame-dialog") == []


def test_batches_wait_fill_and_are_set_otherwise_in_chinese(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/linger-and-batch?lang=zh", reduced_motion="reduce"))
    run_to_ms(page, 640)
    expect(page.locator("[data-node=Fifty] .kafka-batch.is-lingers")).to_contain_text("21")
    expect(page.locator("[data-node=Zero] [data-part=sender] .chip")).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Fifty 的 batch.size 设为 1000").click()
    expect(page.locator("[data-node=Fifty] [data-edit='Fifty batch_size']")).to_contain_text("1000")
