"""The strip under the stage: time that follows the eye, the last frames, and the caption of the moment."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.lab.lab_page import expect_event, opened, run_until, show_panel
from tests.e2e.scenes import empty_scene

#: Sends a command as the page does.
COMMAND = """async ([kind, target, values]) =>
  (await import('/static/common/world/session.js')).command(kind, target, values)"""
#: What the sequence diagram draws: asked of its own module.
WINDOW = """async () => {
    const [{ windowAt }, { view }] = await Promise.all(
      [import('/static/parts/stage/sequence_window.js'), import('/static/common/world/view.js')]);
    const { left, right, frames, calls, points } = windowAt(view.peek().time_us, []);
    return { left, right, names: frames.map((frame) => frame.reply_to_name ?? frame.name),
             nodes: calls.map((call) => call.node), gaps: points.filter((point) => point.gap).length };
}"""


@pytest.fixture
def three_locks(serve, open_page):
    return opened(open_page(f"{serve(empty_scene())}/lab/three-locks"))


def test_without_the_broker_lock_the_duplicate_is_said_and_seen(three_locks):
    page = three_locks
    page.evaluate(COMMAND, ["lock-switch", "B1", {"lock": "broker-lock", "on": False}])
    expect(page.locator(".moment")).to_have_attribute("data-kind", "command")
    page.locator("#speed").select_option("30")
    page.locator("#control-play").click()
    expect(page.locator("#stop-banner")).to_be_visible()
    caption = page.locator(".moment")
    expect(caption).to_have_attribute("data-kind", "violation")
    expect(caption).to_have_text(
        re.compile("^C2 calls its listener with order-0-step-8 while C1 is still processing it: ")
    )
    expect(caption.locator("strong")).to_have_text("order-0-step-8")
    # What flew before comes from the server, a moment later, and more of it while one looks.
    shown = page.wait_for_function(
        f"""async () => {{
              const shown = await ({WINDOW})();
              return shown.names.length >= 20 && shown.names.length <= 26 && shown.gaps >= 1 ? shown : null;
            }}"""
    ).json_value()
    assert shown["nodes"][-2:] == ["C1", "C2"]


def test_by_itself_time_slows_down_for_frames_and_says_so(three_locks):
    page = three_locks
    expect(page.locator("#speed")).to_have_value("auto")
    page.locator("#control-play").click()
    why = page.locator("#speed-why")
    expect(why).to_have_attribute("data-why", "frame")
    expect(why).to_have_text("slow: a frame is in flight")
    page.keyboard.press("]")
    expect(page.locator("#speed")).not_to_have_value("auto")
    expect(why).to_have_text("")


def test_housekeeping_is_shown_when_one_asks_for_it_and_that_is_remembered(three_locks):
    page = three_locks
    run_until(page, "consume-begins")
    assert "HEART_BEAT" not in page.evaluate(WINDOW)["names"]
    show_panel(page, "log")
    rows = page.locator(".log-row")
    expect(rows.filter(has_text="calls the listener")).to_have_count(1)
    expect(rows.filter(has_text="reput")).to_have_count(0)
    page.locator(".strip .matters input").uncheck()
    expect(page.locator(".event-log [role=status]")).to_have_text(re.compile(r"^2\d\d events$"))
    for _ in range(2):
        page.locator(".strip [aria-label='Zoom out']").click()
    page.wait_for_function(f"async () => (await ({WINDOW})()).names.includes('HEART_BEAT')")
    page.reload()
    opened(page)
    expect(page.locator(".strip .matters input")).not_to_be_checked()


def test_one_goes_back_in_the_diagram_and_follows_again(three_locks):
    page = three_locks
    run_until(page, "consumed")
    last = page.evaluate(WINDOW)["right"]
    follow = page.locator(".strip [aria-label='Follow the newest events']")
    expect(follow).to_be_disabled()
    page.locator(".strip [aria-label='Earlier']").click()
    assert page.evaluate(WINDOW)["right"] < last
    follow.click()
    assert page.evaluate(WINDOW)["right"] == last


def test_a_step_moves_neither_the_strip_nor_the_caption(three_locks):
    page = three_locks
    run_until(page, "frame", "LOCK_BATCH_MQ")
    page.evaluate(
        """() => {
             window.shifted = [];
             // Words inside of the caption may stand elsewhere from one sentence to the next; its card may not.
             const isOurs = (node) => node?.matches?.('.moment-text, .strip *');
             const note = ({ sources }) =>
               window.shifted.push(...sources.filter(({ node }) => isOurs(node)).map(({ node }) => node.outerHTML));
             new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type: 'layout-shift' });
           }"""
    )
    before = int(page.locator("#event-number").get_attribute("data-event"))
    for number in range(1, 13):
        page.locator("#control-step").click()
        expect_event(page, before + number)
    assert page.evaluate("() => window.shifted") == []
