"""Nobody is too slow: time rests while one decides, what is past begins again, and what was broken is mended there."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import NOTE_CROSSED_OUT, event_number, open_faults, opened, run_to_ms, run_until
from tests.e2e.scenes import empty_scene

VIEW = "async () => (await import('/static/common/world/view.js')).view.peek()"


@pytest.fixture
def address(serve) -> str:
    return serve(empty_scene())


@pytest.fixture
def page(address, open_page) -> Page:
    return opened(open_page(f"{address}/lab/three-locks"))


def test_a_stranger_switches_the_lock_off_before_the_run_and_sees_the_duplicate_in_three_presses(page):
    page.locator("[data-node=B1] [data-lock-switch]").click()
    page.locator("#actions [data-kind=switch]").click()
    expect(page.locator("[data-node=B1] .pill.is-off")).to_contain_text("Broker lock")
    page.locator("#speed").select_option("3")
    page.locator("#begin button").click()
    expect(page.locator(".moment-violation")).to_contain_text("twice at the same time", timeout=60_000)
    for name in ("C1", "C2"):
        expect(page.locator(f"#node-{name} .listener-call .is-accused")).to_be_in_viewport(ratio=0.99)


def test_time_rests_while_the_actions_of_a_thing_are_open_and_goes_on_after_the_action(page):
    page.locator("#begin button").click()
    page.locator("[data-node=B1] .broker-table .pill").click()
    expect(page.locator("#control-play")).to_have_text("Play")
    stood = event_number(page)
    page.locator("#actions [data-kind=switch]").click()
    expect(page.locator("#control-play")).to_have_text("Pause")
    command = page.evaluate(VIEW)["commands"][0]
    assert (command["event"], command["kind"]) == (stood, "lock-switch")


def test_time_goes_on_when_the_actions_are_closed_but_not_against_who_stopped_it(page):
    page.locator("#begin button").click()
    page.locator("[data-node=B1] .broker-table .pill").click()
    expect(page.locator("#control-play")).to_have_text("Play")
    page.keyboard.press("Escape")
    expect(page.locator("#control-play")).to_have_text("Pause")
    page.locator("#control-play").click()
    expect(page.locator("#control-play")).to_have_text("Play")
    stood = event_number(page)
    open_faults(page, "B1")
    page.keyboard.press("Escape")
    page.locator("#control-step").click()
    expect(page.locator("#event-number")).to_have_attribute("data-event", str(stood + 1))
    expect(page.locator("#control-play")).to_have_text("Play")


def test_a_frame_is_still_there_when_one_has_decided_to_drop_it(page):
    run_until(page, "frame", "SEND_MESSAGE", node="P1")
    page.locator("#control-play").click()
    page.locator(".flights .frame-request[aria-label*='SEND_MESSAGE']").first.dispatch_event("click")  # it never rests
    page.evaluate(NOTE_CROSSED_OUT)
    page.locator("#actions [data-kind=drop-frame]").click()
    page.wait_for_function("() => window.crossed.some((label) => label.includes('SEND_MESSAGE'))")


def test_a_lock_switched_in_a_run_that_is_over_begins_the_run_again_without_it(page):
    page.locator("#speed").select_option("3")
    run_to_ms(page, 60_000)
    expect(page.locator("#begin-again")).to_be_visible()
    page.locator("[data-node=B1] .pill[data-lock-switch]").click()
    expect(page.locator("#actions")).to_contain_text("This run is over")
    assert findings_in_every_theme(page, "#actions") == []
    page.locator("#actions [data-kind=switch]").click()
    expect(page.locator(".moment-violation")).to_contain_text("twice at the same time", timeout=60_000)


def test_what_ended_cannot_be_killed_any_more(page):
    run_to_ms(page, 60_000)
    open_faults(page, "C1")
    expect(page.locator("#actions [data-kind=kill-consumer]")).to_have_count(0)
    expect(page.locator("#actions [data-kind=listener]")).to_be_visible()


def test_the_suggestions_button_plays_and_turns_into_its_opposite(page):
    button = page.locator(".try-buttons button").first
    button.click()
    expect(button).to_have_text("Switch Broker lock on again")
    expect(page.locator("#control-play")).to_have_text("Pause")
    button.click()
    expect(button).to_have_text("Switch the broker lock off")
    expect(page.locator("[data-node=B1] .pill.is-off")).to_have_count(0)


def test_in_a_run_that_is_over_a_suggestion_does_not_mend_but_offers_to_break_again(address, open_page):
    page = opened(open_page(f"{address}/lab/hello"))
    run_to_ms(page, 1_000)
    button = page.locator(".try-buttons button").last
    expect(button).to_have_text("Crash B1")
    button.click()
    expect(button).not_to_have_text("Crash B1")
    page.locator("#control-play").click()
    run_until(page, "frame", "END_TRANSACTION")  # which never comes
    expect(page.locator("#begin-again")).to_be_visible()
    expect(button).to_have_text("Crash B1")


def test_the_suggestion_comes_to_a_moment_that_is_past(page):
    run_to_ms(page, 5_000)
    page.get_by_role("button", name="Run until C2 joins").click()
    expect(page.locator("#virtual-time")).to_contain_text("3.990")


def test_what_does_not_come_any_more_is_said(page):
    run_to_ms(page, 5_000)
    run_until(page, "frame", "END_TRANSACTION")
    expect(page.locator("#notice")).to_contain_text("did not happen before the end of the run")


def test_housekeeping_does_not_chase_a_grave_sentence_away(page):
    page.clock.install()
    report = """async ({ event, weight, en }) => {
        const { receiveView, view } = await import('/static/common/world/view.js');
        const caption = { event, weight, kind: 'frame', keys: [], text: { en, zh: en } };
        receiveView({ ...view.peek(), playing: true, caption }, false);
    }"""
    text = page.locator(".moment")
    page.evaluate(report, {"event": 5, "weight": 3, "en": "B1 dies."})
    expect(text).to_have_text("B1 dies.")
    page.evaluate(report, {"event": 6, "weight": 0, "en": "C1 sends a heartbeat."})
    page.clock.run_for(3_000)
    expect(text).to_have_text("B1 dies.")
    page.clock.run_for(1_500)
    expect(text).to_have_text("C1 sends a heartbeat.")
