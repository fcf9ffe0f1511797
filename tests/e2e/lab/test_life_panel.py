"""The lives of messages, delay levels and dead letters on the lab's stage."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import opened, run_to_ms, show_panel
from tests.e2e.scenes import empty_scene


def test_a_message_is_followed_from_its_producer_to_its_grave_and_resent(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/retry-to-dead-letter", reduced_motion="reduce"))
    run_to_ms(page, 12_000)
    show_panel(page, "life")
    rows = page.locator("#panel-life [data-life]")
    expect(rows).to_have_count(6)
    # What is in trouble stands first.
    expect(rows.first).to_have_attribute("data-life", "order-3")
    expect(rows.first.locator(".life-outcome").last).to_have_text(re.compile("dead"))
    expect(rows.first.locator("[data-mark=dead]")).to_have_count(1)
    page.locator("#panel-life input[name=troubled]").check()
    expect(rows).to_have_count(1)
    page.locator("#panel-life input[name=troubled]").uncheck()
    page.locator("#panel-life input[name=life-key]").fill("order-5")
    expect(rows).to_have_count(1)
    page.locator("#panel-life input[name=life-key]").fill("")

    # With the keyboard: the story, the marks of a lane, and the details of a mark.
    rows.first.locator(".life-key").focus()
    page.keyboard.press("Enter")
    expect(rows.first.locator(".life-story")).to_contain_text("P1 starts to send it")
    expect(page.locator("#node-B1 .is-pointed").first).to_be_visible()
    lane = rows.first.locator(".life-lane").first
    lane.locator("[data-mark]").last.focus()
    page.keyboard.press("Home")
    expect(lane.locator("[data-mark=produced]")).to_be_focused()
    page.keyboard.press("Enter")
    chosen = "async () => (await import('/static/common/world/view.js')).chosenEvent.peek()"
    assert page.evaluate(chosen) is not None
    assert findings_in_every_theme(page) == []

    # Delay levels count down; the dead letter goes back to its group.
    level = page.locator("#node-B1 .delay-row[data-level='4']")
    expect(level).to_contain_text(re.compile("2 waiting"))
    before = level.locator(".delay-due .number").inner_text()
    run_to_ms(page, 15_000)
    expect(level.locator(".delay-due .number")).not_to_have_text(before)
    page.locator("[data-dead-letters=strict]").click()
    dialog = page.locator("#dead-letters-dialog")
    expect(dialog.locator("[data-dead-letter='0']")).to_contain_text("returns RECONSUME_LATER")
    expect(dialog.locator("[data-dead-letter='0']")).to_contain_text("the consumer gave up")
    assert findings_in_every_theme(page, "#dead-letters-dialog") == []
    question = page.locator("#resend-dialog")
    dialog.locator("[data-resend='0']").click()
    expect(question).to_contain_text("Group strict only")
    assert findings_in_every_theme(page, "#resend-dialog") == []
    question.locator("[type=submit]").click()
    expect(question).to_be_hidden()
    page.keyboard.press("Escape")
    run_to_ms(page, 16_000)
    expect(rows.first.locator("[data-mark=resent]")).to_have_count(1)
    page.locator("[data-dead-letters=strict]").click()
    expect(dialog.locator("[data-dead-letter='0']")).to_contain_text("resent: %RETRY%strict")
    dialog.locator("[data-resend='0']").click()
    expect(question.locator("[type=submit]")).to_be_disabled()
    question.locator("input[name=anyway]").check()
    expect(question.locator("[type=submit]")).to_be_enabled()
