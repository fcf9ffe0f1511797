"""Transactions on the stage and on the live page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import live
from tests.e2e.lab_page import opened, run_to_ms
from tests.e2e.scenes import START_MS, empty_scene, small_scene
from tests.e2e.test_accessibility import findings

pytestmark = pytest.mark.browser


def half_message(queue_offset: int, key: str, **fields: object) -> dict[str, object]:
    return {
        "queue_offset": queue_offset,
        "offset": 300 * queue_offset,
        "key": key,
        "topic": "orders",
        "queue_id": 1,
        "group": "shop-web",
        "check_times": 0,
        "born_ms": START_MS + 300_000,
        "ask_from_ms": START_MS + 306_000,
        "decided_by": None,
        **fields,
    }


def scene_with_half_messages():
    scene = small_scene(lively=False)
    scene.tree["transactions"] = {
        "half_offset": 4,
        "half_end": 7,
        "op_offset": 3,
        "op_end": 4,
        "checks_sent": 2,
        "discarded": 1,
        "time_out_ms": 6_000,
        "check_interval_ms": 60_000,
        "check_max": 15,
        "next_round_ms": scene.now_ms + 45_000,
        "messages": [
            half_message(4, "paid-4", decided_by=3),
            half_message(5, "paid-5", check_times=2, ask_from_ms=START_MS),
            half_message(6, "paid-6", ask_from_ms=scene.now_ms + 3_000_000),
        ],
    }
    return scene


@pytest.mark.parametrize("theme", ["light", "dark", "projector"])
def test_the_stage_shows_half_messages_checks_and_local_transactions(serve, open_page, theme):
    address = f"{serve(empty_scene())}/lab/unknown-and-check-back?theme={theme}"
    page = opened(open_page(address, reduced_motion="reduce"))
    expect(page.locator("[data-part=half-messages]")).to_have_count(0)
    run_to_ms(page, 2_600)
    rows = page.locator("#node-B1 .half-row")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("✓ op 0")
    expect(rows.nth(1)).to_contain_text(re.compile(r"0/5.*too young for 5\.9s", re.DOTALL))
    calls = page.locator("#node-P1 .local-call")
    expect(calls.nth(0)).to_have_class(re.compile("is-running"))
    expect(calls.nth(1)).to_contain_text("commit")
    assert findings(page) == []
    run_to_ms(page, 12_000)
    expect(page.locator("#node-B1 [data-half='6']")).to_contain_text(
        re.compile(r"transfer-1.*1/5.*asked in 8s", re.DOTALL)
    )
    expect(calls.nth(0)).to_contain_text("↻1")
    assert findings(page) == []


def test_a_half_message_opens_as_the_record_it_is(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/unknown-and-check-back"))
    run_to_ms(page, 2_600)
    page.locator("#node-B1 [data-half='1'] .half-key").click()
    expect(page.locator("dialog[open]")).to_contain_text("REAL_TOPIC")


@pytest.mark.parametrize("theme", ["light", "dark", "projector"])
def test_the_live_page_shows_half_messages_once_there_are_any(serve, open_page, theme):
    page = live(open_page(f"{serve(scene_with_half_messages())}/live?theme={theme}", reduced_motion="reduce"))
    rows = page.locator("#transactions tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.nth(0)).to_contain_text("too young")
    expect(rows.nth(1)).to_contain_text(re.compile("paid-5.*2 of 15.*asked in", re.DOTALL))
    expect(rows.nth(2)).to_contain_text("✓ op 3")
    page.get_by_role("link", name="Transactions").click()
    expect(page.locator("#transactions")).to_be_focused()
    assert findings(page) == []


def test_a_live_page_without_transactions_does_not_speak_of_them(serve, open_page):
    page = live(open_page(f"{serve(small_scene(lively=False))}/live"))
    expect(page.locator("#groups")).to_be_visible()
    expect(page.locator("#transactions")).to_have_count(0)
    expect(page.get_by_role("link", name="Transactions")).to_have_count(0)
