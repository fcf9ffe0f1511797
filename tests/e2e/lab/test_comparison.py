"""Two worlds side by side: with the broker lock and without it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import opened, run_to_ms
from tests.e2e.scenes import empty_scene


@pytest.fixture
def address(serve) -> str:
    return serve(empty_scene())


def open_pair(page: Page, choice: str) -> Page:
    """From a scenario's page: the same with one thing otherwise."""
    page.locator("#side-by-side").click()
    page.get_by_label(choice).check()
    page.locator("#pair-go").click()
    expect(page.locator("#pair-play")).to_be_enabled()
    return page


@pytest.fixture
def pair(address, open_page) -> Page:
    return open_pair(opened(open_page(f"{address}/lab/three-locks")), "Broker lock off")


def stage(page: Page, side: int):
    return page.frame_locator(f"[data-side='{side}'] iframe")


def expect_both_at(page: Page, time: str) -> None:
    """Both stages stand at the virtual time of the page."""
    expect(page.locator("#pair-time")).to_have_text(f"{time} s")
    for side in (0, 1):
        expect(stage(page, side).locator("#virtual-time")).to_have_text(f"{time} s")


def test_the_first_difference_is_named_and_both_stand_there_together(pair):
    expect(pair.locator("#first-difference")).to_contain_text("Identical up to event 658")
    then = pair.locator("[data-then]")
    expect(then.nth(0)).to_have_text("B1 refuses C2 the lock on Q1: C1 holds it.")
    expect(then.nth(1)).to_contain_text("it grants C2 Q1, although C1 still holds the lock")
    expect(pair.locator("[data-side='1'] .pair-changes")).to_have_text("Broker lock off")
    pair.locator("#go-to-difference").click()
    expect_both_at(pair, "4.031\u2009594")


def test_the_duplicate_is_found_marked_and_only_on_the_right(pair):
    pair.locator("#pair-violation").click()
    expect(pair.locator("[data-side='1'] .pair-bad")).to_contain_text("1 invariant violated")
    expect(pair.locator("[data-side='0'] .pair-bad")).to_have_count(0)
    expect(pair.locator("#pair-now")).to_contain_text("C2 (")
    expect(stage(pair, 1).locator("[data-node=C2]")).to_have_attribute("data-differs", re.compile("differs"))
    expect(stage(pair, 0).locator("[data-node=P1]")).not_to_have_attribute("data-differs", re.compile(""))
    right = stage(pair, 1).locator("#virtual-time")
    expect(right).to_have_text("4.049\u2009169 s")
    expect(stage(pair, 0).locator("#virtual-time")).to_have_text("4.049\u2009169 s")


def test_both_step_play_and_go_back_together_by_keys_too(pair):
    pair.locator("#pair-scrub").fill("4031000")
    expect_both_at(pair, "4.031\u2009000")
    pair.locator("h1").click()
    pair.keyboard.press(".")
    expect_both_at(pair, "4.031\u2009594")
    stage(pair, 0).locator("#stage").focus()
    pair.keyboard.press(".")
    expect_both_at(pair, "4.033\u2009300")
    pair.keyboard.press(",")
    expect_both_at(pair, "4.031\u2009594")
    pair.keyboard.press("Space")
    pair.wait_for_function("() => Number(document.querySelector('#pair-time').dataset.time) > 4040000")
    pair.keyboard.press("Space")
    expect(pair.locator("#pair-play")).to_contain_text("Play")
    expect_both_at(pair, pair.locator("#pair-time").inner_text().removesuffix(" s"))


def test_at_the_beginning_nothing_has_happened_yet_and_playing_says_why_it_is_slow(pair):
    expect(pair.locator("#pair-now")).to_contain_text("Nothing has happened yet")
    pair.locator("#theme-choice").select_option("dark")
    for side in (0, 1):
        expect(stage(pair, side).locator("html")).to_have_attribute("data-theme", "dark")
    pair.locator("#pair-scrub").fill("4032000")
    expect_both_at(pair, "4.032\u2009000")
    pair.locator("#pair-play").click()
    expect(pair.locator("#pair-speed-why")).to_have_attribute("data-why", "frame")
    pair.locator("#pair-play").click()
    expect(pair.locator("#pair-speed-why")).to_have_attribute("data-why", "")


def test_what_is_done_on_one_stage_is_done_on_both(pair):
    pair.locator("#pair-scrub").fill("2000000")
    expect_both_at(pair, "2.000\u2009000")
    stage(pair, 0).locator("body").evaluate(
        "() => import('/static/common/world/session.js').then((lab) => lab.command('pause-node', 'C1'))"
    )
    for side in (0, 1):
        expect(stage(pair, side).locator("[data-node=C1]")).to_have_attribute("data-status", "paused")
    pair.locator("#pair-both").uncheck()
    stage(pair, 1).locator("body").evaluate(
        "() => import('/static/common/world/session.js').then((lab) => lab.command('resume-node', 'C1'))"
    )
    expect(stage(pair, 1).locator("[data-node=C1]")).to_have_attribute("data-status", "running")
    expect(stage(pair, 0).locator("[data-node=C1]")).to_have_attribute("data-status", "paused")


def test_the_address_leads_to_both_worlds_where_they_stand(pair, open_page):
    pair.locator("#go-to-difference").click()
    pair.wait_for_function("() => location.hash.includes('at=4031594')")
    other = open_page(pair.url)
    expect_both_at(other, "4.031\u2009594")
    expect(other.locator("[data-side='1'] .pair-changes")).to_have_text("Broker lock off")


def test_a_run_stands_beside_itself_without_the_last_command_or_with_another_setting(address, open_page):
    page = opened(open_page(f"{address}/lab/three-locks"))
    run_to_ms(page, 1500)
    page.evaluate("() => import('/static/common/world/session.js').then((lab) => lab.command('pause-node', 'C1'))")
    open_pair(page, "Without the last action")
    expect(stage(page, 0).locator("[data-node=C1]")).to_have_attribute("data-status", "paused")
    expect(stage(page, 1).locator("[data-node=C1]")).to_have_attribute("data-status", "running")
    page.goto(f"{address}/lab/hello")
    opened(page)
    open_pair(page, "Nothing yet: the same run twice")
    expect(page.locator("#first-difference")).to_contain_text("Identical to the end")


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_the_page_is_accessible_and_fits_at_every_width(pair, size):
    pair.set_viewport_size({"width": size[0], "height": size[1]})
    pair.locator("#go-to-difference").click()
    expect(pair.locator("#pair-now")).to_contain_text("B1 (Queue locks)")
    assert findings_in_every_theme(pair) == []
    assert pair.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_dialogs_that_lead_out_of_a_run_are_accessible(address, open_page):
    page = opened(open_page(f"{address}/lab/three-locks", reduced_motion="reduce"))
    for name in ("share", "pair"):
        page.locator({"share": "#share", "pair": "#side-by-side"}[name]).click()
        expect(page.locator(f"#{name}-dialog")).to_be_visible()
        assert findings_in_every_theme(page, f"#{name}-dialog") == []
        page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator(".controls-button").click()
    page.locator("#side-by-side").click()
    expect(page.locator("#pair-go")).to_be_visible()


def test_a_page_without_runs_says_where_they_come_from(address, open_page):
    expect(open_page(f"{address}/lab/pair").locator("main")).to_contain_text("This page needs two runs")
