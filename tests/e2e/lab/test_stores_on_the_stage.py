"""Databases and Redis on the stage, and the strategy of a listener as a switch."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import opened, run_to_ms, show_panel
from tests.e2e.scenes import empty_scene


def test_a_strategy_is_chosen_for_the_group_and_its_records_are_seen_and_freed(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/order-and-stock", reduced_motion="reduce"))
    run_to_ms(page, 1_130)
    database = page.locator("[data-node=D1]")
    expect(database.locator(".work-row.is-writes")).to_contain_text("C2writes UPDATE")
    expect(database.locator(".work-row.is-waits")).to_contain_text("C1waits INSERT")
    expect(database.locator("[data-order=order-0]")).to_contain_text("not committed")
    assert findings_in_every_theme(page) == []

    page.locator("[data-node=C1] [data-strategy]").click()
    expect(page.locator("#actions [data-kind=check-then-act]")).to_have_text("⚠ check-then-act")
    assert findings_in_every_theme(page, "#actions") == []
    page.locator("#actions [data-kind=state-table]").click()
    expect(page.locator("[data-strategy=state-table]")).to_have_count(2)
    record = page.locator("[data-node=R1] [data-record-key=order-0]")
    expect(record).to_contain_text("consuming C2")
    expect(page.locator("[data-node=C1] [data-judged=again-0]")).to_contain_text("bounced")
    record.locator(".work-key").click()
    page.locator("#actions [data-kind=free-record]").click()
    expect(record).to_have_count(0)
    show_panel(page, "settings")
    expect(page.locator("[data-setting='C1 idempotence_strategy']")).to_have_value("state-table")


def test_an_order_that_was_taken_twice_is_marked_in_chinese_on_a_phone_too(serve, open_page):
    address = f"{serve(empty_scene())}/lab/order-and-stock?lang=zh"
    page = opened(open_page(address, reduced_motion="reduce", viewport={"width": 390, "height": 844}))
    run_to_ms(page, 500)
    page.locator("[data-node=C1] [data-strategy]").click()
    page.locator("#actions [data-kind=check-then-act]").click()
    expect(page.locator("[data-strategy=check-then-act]")).to_have_count(2)
    run_to_ms(page, 2_000)
    expect(page.locator("[data-node=D1] [data-order=order-0] .badge-bad")).to_have_text("×2")
    expect(page.locator(".moment-violation")).to_contain_text("一个订单扣了 2 次")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert findings_in_every_theme(page) == []
