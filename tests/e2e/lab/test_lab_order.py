"""Ordered consumption on the stage: locks with their owners and bars, and a lock that is switched off by hand."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import opened, run_to_ms
from tests.e2e.scenes import empty_scene


@pytest.fixture
def page(serve, open_page) -> Page:
    return opened(open_page(f"{serve(empty_scene())}/lab/three-locks"))


def test_a_queue_shows_its_locks_who_holds_them_and_how_long(page):
    run_to_ms(page, 4_200)
    locks = page.locator("#node-C1 [data-process-queue='Orders@0'] .order-lock")
    expect(locks).to_have_count(4)
    expect(locks.nth(0)).to_contain_text("26.9 s")
    expect(locks.nth(1)).to_contain_text("worker-")
    expect(locks.nth(2)).to_contain_text("worker-")
    expect(locks.nth(3).locator(".bar")).to_be_visible()
    row = page.locator("#node-B1 .lock-row").first
    expect(row).to_contain_text("C1")
    expect(row).to_contain_text(re.compile(r"\d+(\.\d)? s"))


def test_without_the_broker_lock_the_page_shows_the_duplicate(page):
    run_to_ms(page, 1_200)
    page.locator("[data-node=B1] [data-lock-switch=broker-lock]").click()
    page.locator("#actions [data-kind=switch]").click()
    off = page.locator("[data-node=B1] .pill.is-off")
    expect(off).to_contain_text("off: grants every queue to every client")
    # The entry is in the table still, but nobody asks it: its lease says nothing now.
    row = page.locator("#node-B1 .lock-row").first
    expect(row).to_contain_text("not checked")
    expect(row).not_to_contain_text(re.compile(r"\d+(\.\d)? s"))
    page.get_by_role("tab", name="Faults").click()
    expect(page.locator(".active-fault")).to_contain_text("broker-lock: off")
    page.locator("#run-until").click()
    page.locator("#run-until-dialog select[name=on]").select_option("time")
    page.locator("#run-until-dialog input[name=time_ms]").fill("8000")
    page.locator("#run-until-dialog button[type=submit]").click()
    page.get_by_role("tab", name="Invariants").click()
    broken = page.locator("[data-invariant='one-consumption-per-queue']")
    expect(broken).to_contain_text("while a listener call on C1 is still processing")
    expect(off).to_be_visible()


def test_the_locks_are_accessible_in_every_theme_held_expired_and_off(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/lock-expiry", reduced_motion="reduce"))
    run_to_ms(page, 10_050)
    page.get_by_role("tab", name="Faults").click()
    page.locator("button[data-kind=lock-switch]").click()
    form = page.locator("form[data-command=lock-switch]")
    form.locator("select[name=lock]").select_option("process-queue-lock")
    form.locator("button[type=submit]").click()
    expect(page.locator(".order-lock.is-off").first).to_be_visible()
    assert findings_in_every_theme(page) == []
    run_to_ms(page, 60_000)
    expect(page.locator(".order-lock.is-expired").first).to_be_visible()
    assert findings_in_every_theme(page, "#stage") == []
