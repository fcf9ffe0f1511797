"""Transactions on the stage and on the live page."""

from __future__ import annotations

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import expect

from engine.broker.foundation.broker_config import BrokerConfig
from engine.broker.transactions.half_message_lookup import HalfMessageAction
from engine.client import LocalTransactionState, Message, TransactionMQProducer
from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.conftest import live
from tests.e2e.lab.lab_page import opened, run_to_ms
from tests.e2e.scenes import START_MS, empty_scene, small_scene
from tests.support.live.live_server import LiveServer


def half_message(queue_offset: int, key: str, **fields: object) -> dict[str, object]:
    return {
        "queue_offset": queue_offset,
        "offset": 300 * queue_offset,
        "id": f"{queue_offset:032X}",
        "key": key,
        "topic": "orders",
        "queue_id": 1,
        "group": "shop-web",
        "check_times": 0,
        "born_us": (START_MS + 300_000) * 1_000,
        "ask_from_us": (START_MS + 306_000) * 1_000,
        "decided_by": None,
        "outcome": None,
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
        "next_round_us": (scene.now_ms + 45_000) * 1_000,
        "messages": [
            half_message(3, "paid-3", decided_by=2, outcome="rolled-back"),
            half_message(4, "paid-4", decided_by=3, outcome="committed"),
            half_message(5, "paid-5", check_times=2, ask_from_us=START_MS * 1_000),
            half_message(6, "paid-6", ask_from_us=(scene.now_ms + 3_000_000) * 1_000),
        ],
        "given_up_end": 1,
        "given_up": [
            half_message(0, "paid-1", check_times=15, given_up_us=(scene.now_ms - 60_000) * 1_000, checked_again=None),
        ],
    }
    return scene


def test_the_stage_shows_half_messages_checks_and_local_transactions(serve, open_page):
    address = f"{serve(empty_scene())}/lab/unknown-and-check-back"
    page = opened(open_page(address, reduced_motion="reduce"))
    expect(page.locator("[data-part=half-messages]")).to_have_count(0)
    run_to_ms(page, 2_600)
    rows = page.locator("#node-B1 .half-row")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("✓ committed")
    expect(rows.nth(1)).to_contain_text(re.compile(r"0/5.*not checked for another 5\.9s", re.DOTALL))
    calls = page.locator("#node-P1 .local-call")
    expect(calls.nth(0)).to_have_class(re.compile("is-running"))
    expect(calls.nth(1)).to_contain_text("commit")
    assert findings_in_every_theme(page) == []
    run_to_ms(page, 12_000)
    expect(page.locator("#node-B1 [data-half='6']")).to_contain_text(
        re.compile(r"transfer-1.*1/5.*checked in 8s", re.DOTALL)
    )
    expect(calls.nth(0)).to_contain_text("↻1")
    assert findings_in_every_theme(page) == []


def test_a_half_message_opens_as_the_record_it_is(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/unknown-and-check-back"))
    run_to_ms(page, 2_600)
    page.locator("#node-B1 [data-half='1'] .half-key").click()
    page.locator("#actions [data-kind=open]").click()
    expect(page.locator("dialog[open]")).to_contain_text("REAL_TOPIC")


def test_the_live_page_shows_half_messages_once_there_are_any(serve, open_page):
    page = live(open_page(f"{serve(scene_with_half_messages())}/live?tab=dead-letters", reduced_motion="reduce"))
    rows = page.locator("#transactions [data-half]")
    expect(rows).to_have_count(4)
    expect(page.locator("#transactions [data-given-up]")).to_contain_text(re.compile("paid-1.*15/15", re.DOTALL))
    expect(rows.nth(0)).to_contain_text("✕ rolled back")
    expect(rows.nth(1)).to_contain_text("✓ committed")
    expect(rows.nth(2)).to_contain_text(re.compile("paid-5.*shop-web.*2/15.*checked in", re.DOTALL))
    expect(rows.nth(3)).to_contain_text("not checked for another")
    assert findings_in_every_theme(page) == []


class Unsure:
    """A transaction listener that never knows."""

    def execute_local_transaction(self, message, argument):
        return LocalTransactionState.UNKNOW

    def check_local_transaction(self, message):
        return LocalTransactionState.UNKNOW


def test_an_operator_commits_a_half_message_of_the_live_broker_after_a_question(tmp_path, open_page):
    never_ms = 3_600_000
    config = BrokerConfig(port=0, transaction_time_out_ms=never_ms, transaction_check_interval_ms=never_ms)

    async def send():
        async with TransactionMQProducer(None, "bank", server.name_servers, Unsure()) as producer:
            await producer.send_message_in_transaction(Message("Transfers", b"x", keys="paid-7"), None)

    def send_one():
        # Playwright's own event loop runs in this thread.
        with ThreadPoolExecutor() as other_thread:
            other_thread.submit(lambda: asyncio.run(send())).result()

    with LiveServer(tmp_path / "data", broker=config) as server:
        send_one()
        address = f"http://{server.server.page_address}/live?tab=dead-letters&lang=zh"
        page = live(open_page(address, reduced_motion="reduce"))
        dialog = page.locator("#half-dialog")
        page.locator("#transactions [data-action=commit]").focus()
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text(re.compile("paid-7.*不管本地事务结果如何", re.DOTALL))
        assert findings_in_every_theme(page) == []
        page.keyboard.press("Escape")
        expect(dialog).to_be_hidden()
        assert server.host.state()["transactions"]["op_end"] == 0
        page.locator("#transactions [data-action=commit]").click()
        # Somebody else is quicker.
        server.host.ask(lambda live: live.operator.act_on_half_message(HalfMessageAction.ROLLBACK, "paid-7"))
        expect(dialog).to_contain_text("已有结论")
        expect(dialog.locator("[type=submit]")).to_be_disabled()
        page.keyboard.press("Escape")
        expect(page.locator("#transactions [data-half]")).to_contain_text("✕ 已回滚")
        expect(page.locator("#transactions [data-action]")).to_have_count(0)
        send_one()
        page.locator("#transactions [data-action=commit]").click()
        dialog.locator("[type=submit]").click()
        expect(page.locator(".action-result")).to_contain_text("paid-7 已提交")
        expect(page.locator(".action-result")).to_be_focused()
        expect(page.locator("#transactions [data-action]")).to_have_count(0)


def test_a_half_message_of_the_stage_is_committed_by_hand_and_once_more_anyway(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/unknown-and-check-back", reduced_motion="reduce"))
    run_to_ms(page, 12_000)
    row, dialog = page.locator("#node-B1 [data-half='6']"), page.locator("#half-dialog")
    expect(row).to_contain_text("checked in")
    row.locator(".half-button").focus()
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("Decide transfer-1 by hand")
    expect(dialog).to_contain_text("whatever the outcome of the local transaction")
    expect(dialog.locator("[type=submit]")).to_be_disabled()
    dialog.locator("input[value=commit]").check()
    expect(dialog).to_contain_text("Commit half message transfer-1?")
    assert findings_in_every_theme(page) == []
    dialog.locator("[type=submit]").click()
    expect(dialog).to_be_hidden()
    run_to_ms(page, 12_500)
    expect(row).to_contain_text("✓ committed")
    row.locator(".half-button").click()
    dialog.locator("input[value=commit]").check()
    expect(dialog.locator("[type=submit]")).to_be_disabled()
    dialog.locator("input[name=anyway]").check()
    dialog.locator("[type=submit]").click()
    run_to_ms(page, 13_000)
    expect(page.locator("#node-B1")).to_contain_text(re.compile(r"op\s*2\s*/\s*4"))


def test_a_live_page_without_transactions_does_not_speak_of_them(serve, open_page):
    page = live(open_page(f"{serve(small_scene(lively=False))}/live?tab=dead-letters"))
    expect(page.locator("#dead-letters")).to_be_visible()
    expect(page.locator("#transactions")).to_have_count(0)
