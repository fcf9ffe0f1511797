"""Acting where one looks: what is on the stage is the button of what can be done to it."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import opened, run_to_ms, run_until, show_panel
from tests.e2e.scenes import empty_scene


@pytest.fixture
def address(serve) -> str:
    return serve(empty_scene())


@pytest.fixture
def page(address, open_page) -> Page:
    return opened(open_page(f"{address}/lab/three-locks"))


def test_the_keyboard_opens_walks_and_closes_and_the_focus_comes_back(page):
    run_to_ms(page, 1_200)
    name = page.locator("[data-node=C1] .fault-button")
    name.focus()
    page.keyboard.press("Enter")
    actions = page.locator("#actions [data-action]")
    expect(actions.first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(actions.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(actions.last).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#actions")).to_have_count(0)
    expect(name).to_be_focused()


def test_an_action_that_needs_fields_asks_for_them_at_the_thing(page):
    run_to_ms(page, 1_200)
    page.locator("[data-node=C1] .fault-button").click()
    page.locator("#actions [data-kind=clock-skew]").click()
    page.locator("#actions input[name=ms]").fill("1500")
    page.locator("#actions button[type=submit]").click()
    expect(page.locator("#actions")).to_have_count(0)
    expect(page.locator("[data-node=C1] .node-facts")).to_contain_text("+1.5s")


def test_a_link_is_cut_and_mended_at_its_middle_and_stays_marked(page):
    run_to_ms(page, 1_200)
    sign = page.locator("[data-link='B1 C1']")
    sign.focus()
    page.keyboard.press("Enter")
    page.locator("#actions [data-kind=cut]").click()
    expect(sign).to_have_class("link-sign is-cut")
    expect(page.locator(".link.is-cut")).to_have_count(1)
    run_to_ms(page, 2_000)
    expect(sign).to_have_class("link-sign is-cut")
    sign.click()
    expect(page.locator("#actions")).to_contain_text("Partition")
    expect(page.locator("#actions [data-kind=heal]")).to_have_count(0)
    page.locator("#actions [data-kind=heal-link]").click()
    expect(sign).to_have_class("link-sign is-good")


def test_a_frame_in_flight_is_dropped_where_it_flies(page):
    run_until(page, "frame", "SEND_MESSAGE", node="P1")
    frame = page.locator(".flights .frame-request[aria-label*='SEND_MESSAGE']")
    frame.click()
    page.locator("#actions [data-kind=drop-frame]").click()
    expect(page.locator(".flights .frame-lost[aria-label*='SEND_MESSAGE']")).to_be_visible()


def test_a_timer_fires_now_from_the_list_of_timers(page):
    run_to_ms(page, 5_000)
    show_panel(page, "timers")
    row = page.locator(".timer-row", has_text="rebalance").first
    due = row.get_attribute("data-due")
    row.locator(".timer-name").click()
    page.locator("#actions [data-kind=fire]").click()
    expect(page.locator(f".timer-row[data-due='{due}']", has_text="rebalance")).to_have_count(0)


def test_a_half_message_is_decided_where_it_stands_after_a_question(address, open_page):
    page = opened(open_page(f"{address}/lab/unknown-and-check-back"))
    run_to_ms(page, 12_000)
    row = page.locator("#node-B1 [data-half='6']")
    row.locator(".half-key").click()
    expect(page.locator("#actions [data-action]")).to_have_count(4)
    assert findings_in_every_theme(page, "#actions") == []
    page.locator("#actions [data-kind=rollback-half]").click()
    expect(page.locator("#half-dialog input[value=rollback]")).to_be_checked()
    page.keyboard.press("Escape")
    row.locator(".half-key").click()
    page.locator("#actions [data-kind=rollback-half]").click()
    page.locator("#half-dialog button[type=submit]").click()
    run_to_ms(page, 12_500)
    expect(row).to_contain_text("✕ rolled back")
    row.locator(".half-key").click()
    page.locator("#actions [data-kind=commit-half]").click()
    expect(page.locator("#half-dialog input[name=anyway]")).to_be_visible()


def test_a_message_of_a_tree_offers_what_can_be_done_to_who_holds_it(page):
    run_to_ms(page, 1_200)
    page.locator("[data-node=C1] [data-tree]").first.locator("svg, .cell").first.click()
    expect(page.locator("#actions h2")).to_contain_text("order-0-step-0 · C1")
    page.locator("#actions [data-kind=forced-unlock]").click()
    expect(page.locator("#actions")).to_have_count(0)
    expect(page.locator(".actions")).to_contain_text("C1")


def test_figures_of_timers_at_rest_are_those_of_the_shown_moment(page):
    run_to_ms(page, 5_000)
    show_panel(page, "timers")
    page.locator("#control-step").click()
    page.locator("#control-step").click()
    page.wait_for_function(
        """async () => {
             const { view } = await import('/static/common/world/view.js');
             const { span } = await import('/static/common/world/format.js');
             const rows = [...document.querySelectorAll('.timer-row')];
             return rows.length > 5 && rows.every((row) =>
               row.querySelector('.timer-left').textContent.trim() === span(row.dataset.due - view.peek().time_us));
           }"""
    )


def test_a_flag_before_all_cells_says_its_offset_and_flags_of_groups_do_not_lie_on_each_other(address, open_page):
    page = opened(open_page(f"{address}/lab/big-stage"))
    run_to_ms(page, 4_000)
    flag = page.locator("[data-queue='Orders@0'] [data-committed]").first
    expect(flag).to_have_class("offset-mark is-before")
    expect(flag).to_contain_text("◂")
    page = opened(open_page(f"{address}/lab/retry-to-dead-letter"))
    run_to_ms(page, 4_000)
    flags = page.locator("[data-queue='Orders@0'] [data-committed] > svg")
    expect(flags).to_have_count(3)
    tops = flags.evaluate_all("(all) => all.map((one) => Math.round(one.getBoundingClientRect().top))")
    assert len(set(tops)) == 3


def test_every_message_sent_is_in_one_figure_after_a_crash_too(page):
    run_until(page, "frame", "SEND_MESSAGE", node="P1")
    page.locator("[data-node=B1] .fault-button").click()
    page.locator("#actions [data-kind=crash]").click()
    figures = page.locator("[data-node=P1] [data-figure] dd")
    sent, acknowledged, failed, still_open = (int(text) for text in figures.all_inner_texts())
    assert sent == acknowledged + failed + still_open
    assert still_open > 0


def test_the_legend_names_the_signs_and_is_accessible(page):
    page.locator("#legend-button").click()
    expect(page.locator("#legend")).to_contain_text("Broker lock: one client per queue")
    assert findings_in_every_theme(page, "#legend") == []
