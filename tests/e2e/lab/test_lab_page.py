"""The lab's page: stepping, playing, breaking, rewinding a real world in Chromium."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import THEMES, choose_theme
from tests.e2e.conftest import choose_language
from tests.e2e.lab.lab_page import (
    NOTE_CROSSED_OUT,
    event_number,
    expect_event,
    open_faults,
    open_share,
    opened,
    run_to_ms,
    run_until,
    scrub_to,
    show_panel,
)
from tests.e2e.scenes import empty_scene


@pytest.fixture
def address(serve) -> str:
    return serve(empty_scene())


@pytest.fixture
def page(address, open_page):
    return opened(open_page(f"{address}/lab/hello"))


def test_the_list_shows_every_scenario_and_leads_to_its_stage(address, open_page):
    page = open_page(f"{address}/lab")
    expect(page.locator(".scenario")).not_to_have_count(0)
    first = page.locator(".scenario h3 a").first
    title = first.inner_text()
    first.click()
    expect(opened(page).locator("h1")).to_have_text(title)


def test_a_stage_that_has_not_begun_shows_one_picture_of_its_theme_and_none_where_there_is_no_room(address, open_page):
    page = opened(open_page(f"{address}/lab/three-locks"))
    for theme in THEMES:
        choose_theme(page, theme)
        for height, shown in ((900, 1), (768, 0)):
            page.set_viewport_size({"width": 1024, "height": height})
            expect(page.locator("#begin .poster:visible")).to_have_count(shown)


def test_one_step_runs_one_event_and_says_which_is_next(page):
    show_panel(page, "source")
    page.locator("#control-step").click()
    expect_event(page, 1)
    page.locator("#control-step").click()
    expect_event(page, 2)
    expect(page.locator("#next-event strong")).to_have_text(re.compile(r"\w"))


def test_the_source_marks_the_line_of_the_engine_that_runs_next(page):
    show_panel(page, "source")
    run_to_ms(page, 200)
    expect(page.locator(".source-place code")).to_contain_text("engine/")
    expect(page.locator(".code .is-next")).to_be_visible()


def test_play_moves_virtual_time_until_pause(page):
    page.locator("#control-play").click()
    expect(page.locator("#control-play")).to_have_text("Pause")
    page.wait_for_function("() => Number(document.querySelector('#event-number').dataset.event) > 20")
    page.locator("#control-play").click()
    expect(page.locator("#control-play")).to_have_text("Play")
    stopped_at = event_number(page)
    page.locator("#control-step").click()
    expect_event(page, stopped_at + 1)


def test_a_message_shows_in_the_commit_log_and_its_queue(page):
    run_until(page, "sent", node="P1")
    expect(page.locator("[data-node=B1] [data-record]")).not_to_have_count(0)
    expect(page.locator("[data-queue^='Greetings@'] .cell")).not_to_have_count(0)
    expect(page.locator("[data-node=P1] .figure-cell").first).to_contain_text(re.compile(r"[1-9]"))
    page.locator("[data-record]").last.click()
    expect(page.locator("#record-dialog")).to_contain_text("hello")


def test_a_crashed_broker_shows_as_crashed_and_restarts(page):
    run_to_ms(page, 500)
    open_faults(page, "B1")
    page.locator("#actions [data-kind=crash]").click()
    expect(page.locator("[data-node=B1]")).to_have_attribute("data-status", "crashed")
    open_faults(page, "B1")
    page.locator("#actions [data-kind=restart]").click()
    run_to_ms(page, 1500)  # starting takes time, as everything does
    expect(page.locator("[data-node=B1]")).to_have_attribute("data-status", "running")


def test_scrubbing_back_shows_the_past_and_forking_begins_a_new_future(page):
    run_until(page, "sent", node="P1")
    last = event_number(page)
    scrub_to(page, 30)
    expect(page.locator("#past-banner")).to_contain_text(re.compile("event 30", re.IGNORECASE))
    expect(page.locator("[data-record]")).to_have_count(0)
    scrub_to(page, last)
    expect(page.locator("#past-banner")).to_have_count(0)
    scrub_to(page, 30)
    page.locator("#control-fork").click()
    expect(page.locator("#past-banner")).to_have_count(0)
    page.locator("#control-step").click()
    expect(page.locator("#event-number")).to_have_text("event 31 of 31")


def test_step_back_returns_to_the_event_before(page):
    run_to_ms(page, 300)
    last = event_number(page)
    page.locator("#control-back").click()
    expect_event(page, last - 1)


def test_a_frame_in_flight_opens_down_to_its_bytes(page):
    run_until(page, "frame", "SEND_MESSAGE", node="P1")
    page.locator(".flights .frame[aria-label*='SEND_MESSAGE']").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#actions [data-kind=open]")).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.locator("#frame-dialog")
    expect(dialog).to_contain_text("SEND_MESSAGE")
    expect(dialog.locator(".hex-row").first).to_be_visible()
    expect(dialog.locator(".part-legend li")).to_have_count(4)
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()


def test_the_link_of_a_run_rebuilds_it_in_another_browser(page, open_page):
    run_to_ms(page, 400)
    open_faults(page, "B1")
    page.locator("#actions [data-kind=crash]").click()
    expect(page.locator("[data-node=B1]")).to_have_attribute("data-status", "crashed")
    address_before = page.url
    page.wait_for_function("before => location.href !== before", arg=address_before)
    other = opened(open_page(page.url))
    expect_event(other, event_number(page))
    expect(other.locator("[data-node=B1]")).to_have_attribute("data-status", "crashed")
    expect(other.locator("#stage")).to_have_text(page.locator("#stage").inner_text(), use_inner_text=True)


def test_an_event_of_the_log_shows_its_causes_and_goes_there(page):
    run_to_ms(page, 1500)
    show_panel(page, "log")
    status, found = page.locator(".event-log [role=status]"), re.compile(r"^[1-9]\d* events? found$")
    expect(status).to_have_text(found)
    unfiltered = status.inner_text()
    page.locator("#log-filter").fill("P1")
    expect(status).not_to_have_text(unfiltered)  # a filter is applied only when nobody has typed for a moment
    expect(status).to_have_text(found)
    row = page.locator(".log-row").last
    number = int(row.locator(".link-button").inner_text().removeprefix("#"))
    row.locator("span").last.click()
    expect(page.locator("#sequence-chosen")).to_contain_text(f"#{number}")
    row.locator(".link-button").click()
    expect_event(page, number)


def test_a_frame_that_is_lost_while_the_world_plays_is_crossed_out(page):
    run_to_ms(page, 990)
    page.evaluate(
        "async () => (await import('/static/common/world/session.js'))"
        ".command('drop-next', 'P1->B1', { frame: 'SEND_MESSAGE_V2' })"
    )
    page.evaluate(NOTE_CROSSED_OUT)
    page.locator("#control-play").click()
    page.wait_for_function("() => window.crossed.some((label) => label.includes('SEND_MESSAGE_V2'))")


def test_a_fault_of_a_link_is_listed_while_it_lasts(page):
    show_panel(page, "faults")
    page.locator(".palette [data-kind=link-delay]").click()
    page.locator("[data-command=link-delay] button[type=submit]").click()
    expect(page.locator(".active-fault")).to_have_count(2)  # one for each direction
    page.locator(".palette [data-kind=heal]").click()
    expect(page.locator(".active-fault")).to_have_count(0)


def test_the_page_speaks_chinese_and_keeps_the_world(page):
    run_to_ms(page, 300)
    expected = event_number(page)
    choose_language(page, "zh")
    opened(page)
    expect(page.locator("#control-play")).to_have_text("播放")
    expect_event(page, expected)


def test_every_control_has_its_key(page):
    page.keyboard.press(".")
    expect_event(page, 1)
    page.keyboard.press(".")
    expect_event(page, 2)
    page.keyboard.press(",")
    expect_event(page, 1)
    page.keyboard.press("b")
    page.keyboard.press("Space")
    expect(page.locator("#control-play")).to_have_text("Pause")
    page.keyboard.press("Space")
    expect(page.locator("#control-play")).to_have_text("Play")
    page.keyboard.press("x")
    expect(page.locator("#panel-faults")).to_be_focused()
    page.keyboard.press("?")
    expect(page.locator("#key-map")).to_contain_text("Step one event")


def test_an_exported_page_replays_without_a_server(page, open_page, tmp_path):
    run_until(page, "sent", node="P1")
    last = event_number(page)
    with page.expect_download() as download:
        open_share(page).locator("#export-html").click()
    download.value.save_as(tmp_path / "run.html")
    replay = open_page((tmp_path / "run.html").as_uri())
    expect(replay.locator("#connection")).to_have_attribute("data-status", "recording")
    scrub_to(replay, last)
    expect(replay.locator("[data-record]")).not_to_have_count(0)
    replay.locator("[data-node=B1] .fault-button").click()
    expect(replay.locator("#actions")).to_contain_text("This is a recording and cannot be changed")


def test_a_published_world_is_followed_and_forked_by_others(page, open_page):
    open_share(page).locator("#publish").click()
    follower = opened(open_page(page.locator("#share-follow").input_value()))
    page.keyboard.press("Escape")
    expect(follower.locator("#viewer-banner")).to_be_visible()
    page.locator("#control-step").click()
    expect_event(follower, 1)
    show_panel(follower, "invariants")
    expect(follower.locator("#audit")).to_have_count(0)
    follower.locator("#control-fork").click()
    expect(follower.locator("#viewer-banner")).to_have_count(0)
    expect(follower.locator("#audit")).to_be_visible()
    follower.locator("#control-step").click()
    expect_event(follower, 2)
    expect_event(page, 1)


def test_nothing_moves_by_itself_when_motion_is_reduced(address, open_page):
    page = opened(open_page(f"{address}/lab/hello", reduced_motion="reduce"))
    page.locator("#control-play").click()
    page.wait_for_function("() => Number(document.querySelector('#event-number').dataset.event) > 60")
    assert page.evaluate("document.getAnimations().length") == 0


def test_a_small_window_keeps_every_panel_in_reach(address, open_page):
    page = opened(open_page(f"{address}/lab/hello", viewport={"width": 1024, "height": 768}))
    for name in ("source", "invariants", "log", "frames", "timers", "actors", "faults", "settings"):
        show_panel(page, name)
        expect(page.locator(f"#panel-{name}")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_running_to_a_moment_that_is_past_is_refused_in_words(page):
    run_to_ms(page, 1_500)
    page.locator("#run-until").click()
    page.locator("#run-until-dialog select[name=on]").select_option("time")
    page.locator("#run-until-dialog input[name=time_ms]").fill("1000")
    page.locator("#run-until-dialog button[type=submit]").click()
    expect(page.locator("#notice")).to_contain_text("1 s has already passed: it is 1.5 s.")


def test_every_tooltip_says_something(page):
    run_to_ms(page, 400)
    titles = page.locator("[title]").evaluate_all("(all) => all.map((one) => one.title)")
    assert [title for title in titles if "undefined" in title or "[object" in title] == []
    assert page.locator("#control-restart").get_attribute("title").endswith("(r)")


def test_links_of_a_run_end_where_it_begins_again_or_is_rewound(page):
    links = page.locator("#stage .link")
    expect(links).to_have_count(0)
    run_to_ms(page, 400)
    expect(links).not_to_have_count(0)
    scrub_to(page, 0)
    expect(links).to_have_count(0)
    page.keyboard.press("End")
    expect(links).not_to_have_count(0)
    page.keyboard.press("r")
    expect_event(page, 0)
    expect(links).to_have_count(0)


def test_the_keys_to_the_stage_and_the_diagram_lead_to_what_arrows_move(page):
    run_to_ms(page, 400)
    focused = "() => document.activeElement.dataset.node ?? document.activeElement.getAttribute('role')"
    nodes = page.locator("#stage .node").evaluate_all("(all) => all.map((one) => one.dataset.node)")
    page.keyboard.press("n")
    assert page.evaluate(focused) == nodes[0]
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == nodes[1]
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused) == nodes[0]
    page.keyboard.press("d")
    page.wait_for_function("() => document.activeElement.getAttribute('role') === 'application'")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#sequence-chosen")).to_contain_text("#")


@pytest.mark.parametrize("width", [1440, 1024, 390])
def test_a_lost_server_is_said_in_words_at_every_width(address, open_page, width):
    page = opened(open_page(f"{address}/lab/hello", viewport={"width": width, "height": 800}))
    page.evaluate("async () => (await import('/static/common/transport.js')).openConnection('/live').io.disconnect()")
    page.wait_for_selector("#connection[data-status=reconnecting], #connection[data-status=refused]")
    assert page.locator(".connection-text").bounding_box()["width"] > 60
    assert page.evaluate("document.querySelector('.page-head-row').scrollWidth <= innerWidth")


def test_half_messages_that_were_given_up_have_their_names_on_a_phone(address, open_page):
    page = opened(open_page(f"{address}/lab/check-max-discard", viewport={"width": 390, "height": 844}))
    run_to_ms(page, 81_000)
    names = page.locator("[data-given-up] .half-key")
    expect(names).to_have_count(3)
    for name in names.all():
        assert name.evaluate("(one) => one.scrollWidth <= one.clientWidth")
