"""The tab with all brokers: a pair of real brokers, seen from either page, one of which goes away."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from engine.broker.foundation.broker_config import BrokerConfig
from engine.replication.ha.ha_config import HaRole
from tests.e2e.accessibility import choose_theme, findings_in_every_theme
from tests.e2e.conftest import choose_language
from tests.support.live.live_server import LiveServer


@contextmanager
def running_pair(folder):
    with LiveServer(folder / "master", broker=BrokerConfig(port=0, ha_listen_port=0)) as master:
        slave = BrokerConfig(port=0, broker_role=HaRole.SLAVE, broker_id=1, slave_synchronize_interval_ms=500)
        with LiveServer(folder / "slave", broker=slave, slave_of=master.host.broker_address) as slave:
            yield master, slave


@pytest.fixture
def pair(tmp_path):
    with running_pair(tmp_path) as servers:
        yield servers


def card(page, server):
    return page.locator(f".broker-card[data-broker='{server.host.broker_address}']")


def figure(page, server, name):
    return card(page, server).locator(f"[data-figure={name}] dd")


def test_a_pair_is_shown_side_by_side_from_both_pages_and_a_stopped_slave_turns_grey(pair, open_page):
    master, slave = pair
    assert master.post("/api/live/topics", {"topic": "orders", "queues": 2})[0] == 200
    for _ in range(3):
        assert master.post("/api/live/messages", {"topic": "orders", "body": "hello"})[0] == 200
    pages = [open_page(f"http://{server.server.page_address}/live") for server in pair]
    for page in pages:
        page.wait_for_selector("#connection[data-status=live]")
        page.keyboard.press("6")
        expect(page.locator("#tab-brokers")).to_be_focused()
        expect(page.locator(".broker-card[data-state=answers]")).to_have_count(2)
        expect(card(page, master).locator(".badge").first).to_have_text("asynchronous master")
        expect(card(page, slave).locator(".badge").first).to_have_text("slave, id 1")
        expect(figure(page, slave, "replicated")).to_have_text("follows its master")
        for server in pair:
            expect(figure(page, server, "messages")).to_have_text("3")
        log_end = figure(page, master, "log_end").inner_text()
        expect(figure(page, slave, "log_end")).to_have_text(log_end)
        expect(figure(page, master, "replicated")).to_contain_text(log_end)
        expect(page.locator("#broker-topics [data-row=orders] summary")).to_have_text(["2 queues, 3 messages"] * 2)
        expect(page.locator("[data-plot=in_rate] .plot-legend li")).to_have_count(2)
    expect(card(pages[0], slave).locator("h3 a")).to_have_attribute(
        "href", f"http://{slave.server.page_address}/live?tab=brokers"
    )
    pages[1].close()
    slave.host.stop()
    expect(card(pages[0], slave)).to_have_attribute("data-state", "unregistered")
    expect(card(pages[0], slave).locator(".broker-state")).to_contain_text("Unknown to the name servers since")
    expect(figure(pages[0], slave, "messages")).to_have_text("3")
    expect(card(pages[0], master)).to_have_attribute("data-state", "answers")
    assert findings_in_every_theme(pages[0], "#page-place") == []


def test_on_a_phone_one_broker_is_under_the_other_in_each_theme_and_language(pair, open_page):
    master, slave = pair
    master.post("/api/live/topics", {"topic": "orders", "queues": 16})
    page = open_page(f"http://{master.server.page_address}/live?tab=brokers", viewport={"width": 390, "height": 844})
    cells = page.locator("#broker-topics [data-row=orders] td")
    expect(cells.locator("summary")).to_have_count(2)
    upper, lower = card(page, master).bounding_box(), card(page, slave).bounding_box()
    assert lower["y"] >= upper["y"] + upper["height"]
    upper, lower = cells.nth(0).bounding_box(), cells.nth(1).bounding_box()
    assert lower["y"] >= upper["y"] + upper["height"]
    for theme in ("light", "dark"):
        choose_theme(page, theme)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), theme
    choose_language(page, "zh")
    expect(page.locator("#brokers dt").first).to_have_text("地址")

    def refuse(route):
        answer = route.fetch().json()
        answer["brokers"][1] |= {"state": "refuses", "why": {"en": "it is busy", "zh": "它很忙"}, "facts": None}
        route.fulfill(json=answer)

    page.route("**/api/live/brokers", refuse)
    expect(card(page, slave).locator(".broker-state")).to_contain_text("它很忙")
    expect(card(page, slave).locator("dt")).to_have_text(["地址"])
