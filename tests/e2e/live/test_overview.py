"""The live page in words and figures: its verdict, its rules, and plots over one range of time."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.conftest import live
from tests.e2e.scenes import empty_scene, small_scene


def waiting_scene():
    """A shop of which everything but ``reports`` is well: nobody reads for it."""
    scene = small_scene(lively=False)
    scene.watcher.change_thresholds({"group_offline": 0})
    return scene


def test_the_first_line_says_what_is_not_well_and_each_clause_leads_to_its_panel(serve, open_page):
    page = live(open_page(f"{serve(waiting_scene())}/live"))
    verdict = page.locator("#verdict")
    expect(verdict).to_have_attribute("data-level", "warning")
    expect(verdict.get_by_role("status")).to_have_text("1 problem")
    clause = verdict.get_by_role("link", name=re.compile("^reports has had no consumers"))
    clause.click()
    expect(page.locator("#groups")).to_be_focused()
    expect(page.locator("#groups")).to_be_in_viewport()
    expect(page.locator("#groups select")).to_have_value("reports")


def test_the_first_line_stands_in_chinese_too(serve, open_page):
    page = live(open_page(f"{serve(waiting_scene())}/live?lang=zh"))
    expect(page.locator(".verdict-words")).to_contain_text("没有消费者在线")


def test_a_broker_where_nothing_is_wrong_says_so(serve, open_page):
    page = live(open_page(f"{serve(empty_scene())}/live"))
    expect(page.locator("#verdict")).to_have_attribute("data-level", "well")
    expect(page.locator(".verdict-words")).to_have_text("Nothing to report: no client is connected")


def test_a_rule_is_switched_off_and_a_threshold_set_in_the_dialog(serve, open_page):
    scene = waiting_scene()
    page = live(open_page(f"{serve(scene)}/live"))
    page.get_by_role("button", name="Rules").click()
    dialog = page.get_by_role("dialog", name="Rules")
    offline = dialog.get_by_role("checkbox", name=re.compile("no connected member"))
    expect(offline).to_be_checked()
    offline.uncheck()
    dialog.get_by_role("spinbutton", name="Lag of a group with members, in messages").fill("5000")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).not_to_be_visible()
    thresholds = {rule["rule"]: rule["threshold"] for rule in scene.watcher.as_json()["rules"]}
    assert (thresholds["group_offline"], thresholds["group_behind"]) == (None, 5000)
    scene.send("orders", "so that there is something new", 0)
    expect(page.locator("#verdict")).to_have_attribute("data-level", "well")
    page.get_by_role("button", name="Rules").click()
    expect(offline).not_to_be_checked()


def test_a_threshold_that_makes_no_sense_is_not_sent(serve, open_page):
    scene = waiting_scene()
    page = live(open_page(f"{serve(scene)}/live"))
    page.get_by_role("button", name="Rules").click()
    dialog = page.get_by_role("dialog", name="Rules")
    dialog.get_by_role("spinbutton", name="Used share of the disk").fill("300")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_visible()
    assert scene.watcher.verdict.as_json()["level"] == "warning"
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()


def test_words_that_come_and_go_move_nothing_below_them(serve, open_page):
    scene = small_scene(lively=False)
    page = live(open_page(f"{serve(scene)}/live"))
    expect(page.locator("#verdict")).to_have_attribute("data-level", "well")
    before = page.locator("#stage").bounding_box()
    scene.watcher.change_thresholds({"group_offline": 0, "queue_unowned": 0, "queue_stuck": 0, "group_behind": 1})
    scene.send("orders", "so that there is something new", 0)
    expect(page.locator("#verdict")).to_have_attribute("data-level", "warning")
    after = page.locator("#stage").bounding_box()
    assert (after["y"], after["x"], after["width"]) == (before["y"], before["x"], before["width"])


def test_a_longer_range_is_asked_of_the_server_and_kept_over_a_reload(serve, open_page):
    page = live(open_page(f"{serve(small_scene())}/live?tab=metrics"))
    with page.expect_response(re.compile(r"/api/live/history\?from=\d+&to=\d+")):
        page.get_by_role("radio", name="1 h", exact=True).check(force=True)
    expect(page.locator("#plots")).to_contain_text("each point covers 10 s")
    page.reload()
    expect(live(page).get_by_role("radio", name="1 h", exact=True)).to_be_checked()
    expect(page.locator("#plots")).to_contain_text("each point covers 10 s")


def test_a_stretch_marked_in_one_plot_zooms_all_and_the_crosshair_is_shared(serve, open_page):
    page = live(open_page(f"{serve(small_scene(lively=True))}/live?tab=metrics"))
    page.locator("#plots").scroll_into_view_if_needed()
    # Over the plot: whatever scrolls would take the pointer along.
    place = page.locator("[data-plot=lag] .u-over")
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 40)
    expect(page.locator(".plots-time")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))
    crosshairs = page.locator(".u-cursor-x").evaluate_all(
        "(all) => all.map((one) => Math.round(new DOMMatrix(getComputedStyle(one).transform).e))"
    )
    assert len(crosshairs) == 4
    assert max(crosshairs) - min(crosshairs) <= 2 and min(crosshairs) > 0
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 40, steps=4)
    with page.expect_response(re.compile("/api/live/history")):
        page.mouse.up()
    back = page.get_by_role("button", name=re.compile("zoom out"))
    expect(back).to_be_visible()
    back.click()
    expect(back).not_to_be_visible()
    expect(page.get_by_role("radio", name="5 min")).to_be_checked()


def test_the_crosshair_walks_and_zooms_by_keys(serve, open_page):
    page = live(open_page(f"{serve(small_scene())}/live?tab=metrics"))
    plot = page.locator("[data-plot=throughput] .plot-canvas")
    plot.focus()
    page.keyboard.press("ArrowLeft")
    time = page.locator(".plots-time")
    expect(time).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))
    before = time.inner_text()
    for _ in range(60):
        page.keyboard.press("ArrowLeft")
    expect(time).not_to_have_text(before)
    assert time.inner_text() < before
    page.keyboard.press("+")
    expect(page.get_by_role("button", name=re.compile("zoom out"))).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name=re.compile("zoom out"))).not_to_be_visible()


def test_a_latency_of_a_single_second_is_a_dot_that_one_sees(serve, open_page):
    scene = small_scene()
    for number, second in enumerate(scene.seconds):
        second["in_messages"] = 1 if number == len(scene.seconds) - 30 else 0
    page = live(open_page(f"{serve(scene)}/live?tab=metrics&theme=light"))
    page.locator("[data-plot=put_latency]").scroll_into_view_if_needed()
    page.wait_for_function(
        """() => {
             const canvas = document.querySelector('[data-plot=put_latency] canvas');
             const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
             let blue = 0;
             for (let at = 0; at < data.length; at += 4)
               blue += data[at + 3] > 200 && data[at + 2] > 120 && data[at] < 60;
             return blue >= 20;
           }"""
    )


DARK_PIXELS = """() => {
  const canvas = document.querySelector('[data-plot=lag] canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let dark = 0;
  for (let at = 0; at < data.length; at += 4)
    dark += data[at + 3] > 200 && Math.max(data[at], data[at + 1], data[at + 2]) < 60;
  return dark;
}"""


def test_events_are_marked_in_the_plots_named_at_the_crosshair_and_listed(serve, open_page):
    scene = small_scene()
    page = live(open_page(f"{serve(scene)}/live?tab=metrics&theme=light"))
    page.locator("#plots").scroll_into_view_if_needed()
    events = page.locator(".plot-events")
    expect(events.locator("summary")).to_have_text("0 events in this time")
    page.wait_for_selector("[data-plot=lag] canvas")
    before = page.evaluate(DARK_PIXELS)
    second = scene.seconds[-20]["second"]
    scene.watcher.events.note(second * 1000, "fault_on", fault={"en": "the disk is full", "zh": "磁盘已满"})
    scene.send("orders", "so that there is something new", 0)
    expect(events.locator("summary")).to_have_text("1 event in this time")
    page.wait_for_function(f"before => ({DARK_PIXELS})() > before + 20", arg=before)
    plot = page.locator("[data-plot=lag] .plot-canvas")
    plot.focus()
    for _ in range(20):
        plot.press("ArrowLeft")
    expect(events.locator("summary")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d ✕ Fault: the disk is full$"))
    events.locator("summary").click()
    expect(events.locator("li")).to_have_text([re.compile("the disk is full")])
    assert findings_in_every_theme(page) == []
