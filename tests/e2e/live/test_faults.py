"""Breaking the running broker from the live page, and stepping frames of a real client."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.conftest import live, open_tab
from tests.e2e.scenes import small_scene
from tests.support.live.live_server import LiveServer, message
from tests.support.live.producer_thread import ProducerThread


@pytest.fixture
def server(tmp_path):
    with LiveServer(tmp_path, allow_faults=True) as running:
        with ThreadPoolExecutor(1) as elsewhere:  # the browser's event loop runs in this thread
            elsewhere.submit(running.create_topic, "orders", 1).result()
        yield running


def keys_found(server: LiveServer, key: str) -> int:
    _, answer = server.get(f"/api/messages?topic=orders&key={key}")
    return len(answer["messages"])


def open_live(server: LiveServer, open_page) -> Page:
    return live(open_page(f"http://{server.server.page_address}/live"))


def act_on(page: Page, thing: str, action: str) -> None:
    """Press the bolt of a thing, and one of its actions."""
    page.locator(thing).first.click()
    page.locator(f".popover [data-kind={action}]").click()


def test_a_held_send_is_changed_in_the_page_and_stored_with_its_new_key(server, open_page):
    with ProducerThread(server.name_servers, "shop-web") as producer, ThreadPoolExecutor(1) as sending:
        producer.send(message("orders", "first"))
        page = open_live(server, open_page)
        banner = page.locator(".fault-banner")
        expect(banner).to_have_count(0)
        act_on(page, ".client .bolt", "next-hold")
        page.locator(".popover [name=frame]").select_option("SEND_MESSAGE_V2")
        page.locator(".popover [type=submit]").click()
        expect(banner).to_contain_text("1 active rule")
        page.locator(".fault-banner").get_by_role("link", name="Show").click()
        expect(page.locator("#faults")).to_be_focused()
        expect(page.locator("#faults [data-rule]")).to_contain_text("no hits")

        sent = sending.submit(producer.send, message("orders", "hello", keys="before"))
        expect(page.locator("[data-held]")).to_contain_text(re.compile("sends before to broker-a, for Q0"))
        expect(page.locator("[data-held] .held-patience")).to_contain_text("probably")
        expect(banner).to_contain_text("1 held frame")
        assert findings_in_every_theme(page) == []
        page.locator("[name='properties.KEYS']").fill("after")
        page.get_by_role("button", name="Let it pass, changed").click()
        assert sent.result(60).queue_offset == 1

        expect(banner).to_have_count(0)
        expect(page.locator("#faults [data-rule]")).to_contain_text(re.compile("1 frame.*used up"))
    assert (keys_found(server, "after"), keys_found(server, "before")) == (1, 0)


def test_a_dropped_frame_is_gone_and_the_others_wait_until_all_pass(server, open_page):
    with ProducerThread(server.name_servers, "shop-web") as producer, ThreadPoolExecutor(1) as sending:
        producer.send(message("orders", "first"))
        page = open_live(server, open_page)
        act_on(page, ".client .bolt", "hold")
        open_tab(page, "faults")
        expect(page.locator("#faults [data-rule]")).to_have_count(1)
        producer.send_oneway(message("orders", "hello", keys="lost"))
        expect(page.locator("[data-held]", has_text="sends lost")).to_have_count(1)
        kept = sending.submit(producer.send, message("orders", "hello", keys="kept"))
        expect(page.locator("[data-held]", has_text="sends kept")).to_have_count(1)
        page.locator("[data-held]", has_text="sends lost").click()
        page.get_by_role("button", name="Drop").click()
        expect(page.locator("[data-held]", has_text="sends lost")).to_have_count(0)
        page.locator("[data-pass-all]").click()
        assert kept.result(60).queue_offset == 1
    assert (keys_found(server, "kept"), keys_found(server, "lost")) == (1, 0)


def test_a_frame_that_its_client_gave_up_is_said_to_be_gone(server, open_page):
    page = open_live(server, open_page)
    act_on(page, ".broker-name .bolt", "next-hold")
    page.locator(".popover [type=submit]").click()
    open_tab(page, "faults")
    expect(page.locator("#faults [data-rule]")).to_have_count(1)
    with ProducerThread(server.name_servers, "shop-web") as producer:
        producer.send_oneway(message("orders", "hello", keys="late"))
        expect(page.locator("[data-held]")).to_contain_text("sends late")
        before = page.locator("#faults").bounding_box()
    expect(page.locator(".held-lost")).to_contain_text("SEND_MESSAGE_V2 of")
    expect(page.locator(".held-empty")).to_contain_text("The rule is used up")
    assert page.locator("#faults").bounding_box() == before
    page.get_by_role("button", name="Remove rule 1").click()
    expect(page.locator(".held")).to_have_count(0)


def test_a_killed_broker_is_reported_on_every_page_and_started_again(server, open_page):
    page = open_live(server, open_page)
    act_on(page, ".broker-name .bolt", "crash")
    cover = page.locator(".stage-cover")
    expect(cover).to_contain_text("broker-a was killed")
    verdict = page.locator("#verdict")
    expect(verdict).to_have_attribute("data-level", "broken")
    expect(verdict.locator(".verdict-words")).to_contain_text(re.compile(r"broker-a was killed at \d\d:\d\d:\d\d"))
    expect(verdict.locator(".verdict-words")).to_contain_text("the figures are from then")
    expect(page.locator(".overview.is-past")).to_have_count(1)
    assert findings_in_every_theme(page) == []
    other = open_page(f"http://{server.server.page_address}/tutorials?lang=zh")
    expect(other.locator(".fault-banner")).to_contain_text("broker-a 已被杀死")
    page.set_viewport_size({"width": 390, "height": 844})
    expect(cover.locator("[data-revive=broker]")).to_be_in_viewport()
    page.reload()  # no state at all now
    expect(verdict).to_contain_text(re.compile(r"broker-a was killed at \d\d:\d\d:\d\d"))
    expect(verdict).not_to_contain_text("the figures")
    cover.locator("[data-revive=broker]").click()
    expect(cover).to_have_count(0)
    live(page)
    expect(verdict).to_have_attribute("data-level", "well")
    expect(page.locator(".overview.is-past")).to_have_count(0)
    expect(other.locator(".fault-banner")).to_have_count(0)


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (390, 844)])
def test_the_banner_of_faults_covers_neither_verdict_nor_figures(server, open_page, width, height):
    page = live(open_page(f"http://{server.server.page_address}/live", viewport={"width": width, "height": height}))
    before = page.locator("#stage").bounding_box()["y"]
    act_on(page, ".broker-name .bolt", "disk-full")
    banner = page.locator(".fault-banner")
    expect(banner).to_contain_text("the disk is full")
    expect(page.locator("#verdict")).to_contain_text("the disk is 100 % full")
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    assert page.locator("#stage").bounding_box()["y"] == before
    overview, tab = page.locator(".overview").bounding_box(), banner.bounding_box()
    assert overview["y"] + overview["height"] <= tab["y"]
    page.evaluate("scrollTo({ top: document.body.scrollHeight, behavior: 'instant' })")
    last, tab = page.locator(".live-tab > section").last.bounding_box(), banner.bounding_box()
    assert last["y"] + last["height"] <= tab["y"]


def test_the_figures_of_a_server_that_is_silent_are_said_to_be_old(serve, open_page):
    page = live(open_page(f"{serve(small_scene(lively=False))}/live"))
    expect(page.locator(".overview.is-past")).to_have_count(0)
    page.context.set_offline(True)
    page.evaluate("async () => (await import('/static/common/transport.js')).openConnection('/lab').io.engine.close()")
    expect(page.locator("#verdict")).to_contain_text(re.compile(r"no answer from the server since \d\d:\d\d:\d\d"))
    expect(page.locator(".overview.is-past")).to_have_count(1)
    page.context.set_offline(False)
    expect(page.locator(".overview.is-past")).to_have_count(0)
    open_page.complaints.clear()  # of the connection that was cut


def test_a_paused_engine_is_shown_with_the_time_left_and_resumes_on_command(server, open_page):
    page = open_live(server, open_page)
    act_on(page, ".broker-name .bolt", "pause")
    page.locator(".popover [name=ms]").fill("30000")
    page.locator(".popover [type=submit]").click()
    cover = page.locator(".stage-cover")
    expect(cover).to_contain_text(re.compile(r"paused for another \d+ s"))
    expect(page.locator("#verdict")).to_contain_text(re.compile(r"broker-a has been paused since \d\d:\d\d:\d\d"))
    expect(page.locator(".fault-banner")).to_contain_text("paused")
    cover.locator("[data-revive=resume]").click()
    expect(cover).to_have_count(0)
    expect(page.locator(".fault-banner")).to_have_count(0)
    open_page.forgive("503")


def test_a_rule_is_made_and_removed_by_keyboard(server, open_page):
    page = open_live(server, open_page)
    open_tab(page, "faults").get_by_role("button", name="New rule").focus()
    page.keyboard.press("Enter")
    form = page.locator("#rule-form")
    expect(form.locator("[name=what]")).to_be_focused()
    form.locator("[name=what]").select_option("reject")
    expect(form.locator("[name=direction]")).to_have_count(0)
    form.locator("[name=code]").select_option("SYSTEM_BUSY")
    form.locator("[name=topic]").fill("ord*x")
    page.keyboard.press("Enter")
    expect(page.locator(".told-line.is-problem")).to_contain_text("topic")
    open_page.forgive("400")
    form.locator("[name=topic]").fill("ord*")
    page.keyboard.press("Enter")
    expect(form).to_have_count(0)
    expect(page.get_by_role("button", name="New rule")).to_be_focused()
    rule = page.locator("#faults [data-rule]")
    expect(rule).to_contain_text(re.compile(r"Reject.*SYSTEM_BUSY.*SEND_MESSAGE_V2.*ord\*.*1 time.*no hits", re.DOTALL))
    page.get_by_role("button", name="Remove rule 1").focus()
    page.keyboard.press("Enter")
    expect(rule).to_have_count(0)
    expect(page.locator(".fault-banner")).to_have_count(0)


def test_without_the_option_nothing_can_be_broken(serve, open_page):
    page = live(open_page(f"{serve(small_scene(lively=False))}/live"))
    expect(page.locator(".client").first).to_be_visible()
    expect(page.locator(".bolt, #faults, .fault-banner")).to_have_count(0)
