"""Why? asked on the page: from a violation, a life, a key; the chain leads through the stage."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import opened, run_to_ms, show_panel
from tests.e2e.scenes import empty_scene

SWITCH_OFF = """async () => (await import('/static/common/world/session.js'))
    .command('lock-switch', '', {lock: 'broker-lock', on: false})"""


def test_a_broken_invariant_is_explained_and_each_step_shows_its_moment(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/start-page", reduced_motion="reduce"))
    run_to_ms(page, 5_660)
    page.evaluate(SWITCH_OFF)
    page.evaluate(
        "async () => (await import('/static/common/world/session.js')).runUntil({on: 'time', time_us: 8_000_000})"
    )
    expect(page.locator("#stop-banner")).to_be_visible()
    show_panel(page, "invariants")
    page.locator("#panel-invariants [data-why=ann4]").first.click()

    card = page.locator("#why")
    expect(card).to_be_focused()
    expect(card.locator(".why-verdict")).to_contain_text(
        "C2 received ann4 while C1 was still processing it: B1's lock was off"
    )
    expect(card.locator(".why-question[aria-pressed=true]")).to_contain_text("Why twice?")
    assert findings_in_every_theme(page) == []

    # With the keyboard through the chain: the first event is shown on the stage, the card stays as it was.
    steps = card.locator(".why-steps .why-go")
    box = card.bounding_box()
    card.locator(".why-go[tabindex='0']").first.focus()
    page.keyboard.press("Home")
    expect(steps.first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#past-banner")).to_be_visible()
    expect(steps.first).to_have_attribute("aria-current", "step")
    expect(page.locator("#node-C1")).to_contain_text("ann4")
    assert card.bounding_box() == box
    expect(card.get_by_role("button", name="Ask again here")).to_be_visible()
    card.get_by_role("button", name="Ask again here").click()
    expect(page.locator("#why .why-as-of")).to_contain_text("5.40")
    expect(page.locator("#why .why-question")).to_have_text([re.compile("Why not yet")])
    page.locator("#why .why-close").click()
    expect(page.locator("#why")).to_have_count(0)


def test_what_has_not_come_yet_is_foreseen_and_can_be_run_to(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/killed-owner-waits-60s", reduced_motion="reduce"))
    run_to_ms(page, 20_000)
    show_panel(page, "story")
    page.locator("#why-key").fill("order-30")
    page.keyboard.press("Enter")
    card = page.locator("#why")
    expect(card.locator(".why-verdict")).to_contain_text("B1 keeps it locked for C1 until 61.10")
    last = card.locator(".why-go").last
    expect(last).to_contain_text("70.4")
    last.click()
    expect(page.locator(".why-step.is-here .why-go").last).to_contain_text("C2's listener returns")
    card.get_by_role("button", name="Ask again here").click()
    expect(page.locator("#why .why-verdict")).to_contain_text("the broker kept Orders Q0 locked for C1")

    # A life asks too, and so does a key that nobody has sent.
    show_panel(page, "life")
    page.locator("#panel-life [data-life] .life-key").first.click()
    page.locator("#panel-life .life-story [data-why]").click()
    expect(page.locator("#panel-story #why .why-verdict")).to_be_visible()
    page.locator("#why-key").fill("nobody-sent-this")
    page.keyboard.press("Enter")
    expect(page.locator("#why")).to_contain_text("No message nobody-sent-this has been sent")
