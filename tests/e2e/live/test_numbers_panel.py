"""The numbers of producers on the live page of a real broker: the gap in the line, the verdict, both languages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import expect

from app.observation import stored_numbers
from engine.protocol.message.message import Message
from engine.protocol.message.numbering_ledger import (
    NUMBERING_LEDGER_TOPIC,
    PRODUCER_ID_PROPERTY,
    SEQUENCE_NUMBER_PROPERTY,
    NumberingLedger,
)
from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.conftest import live
from tests.support.live.live_server import LiveServer


def numbered(number, producer="shop@1"):
    properties = {PRODUCER_ID_PROPERTY: producer, SEQUENCE_NUMBER_PROPERTY: str(number)}
    return Message("Orders", b"x", properties=properties)


def test_a_gap_is_shown_in_the_line_of_its_producer_and_said_at_the_top(tmp_path, open_page, monkeypatch):
    monkeypatch.setattr(stored_numbers, "SETTLING_MS", 0)
    with LiveServer(tmp_path / "data") as server:
        messages = [*map(numbered, (0, 1, 2, 6, 7, 7)), numbered(0, "till@1")]
        with ThreadPoolExecutor() as pool:  # Playwright's own event loop runs in this thread
            pool.submit(lambda: server.send(*messages)).result()
        address = f"http://{server.server.page_address}/live?tab=messages"
        page = live(open_page(address, reduced_motion="reduce"))
        panel = page.locator("#numbers")
        row = panel.locator("[data-producer='shop@1']")
        expect(row.locator(".numbers-bad")).to_have_text(["3", "1"])
        expect(row.get_by_role("img")).to_have_accessible_name("Missing: 3–5")
        expect(panel.locator("[data-producer='till@1']").get_by_role("img")).to_have_accessible_name("No gaps")
        expect(page.locator(".overview")).to_contain_text("3 numbers are missing in Orders")
        assert findings_in_every_theme(page, "#numbers") == []
        chinese = live(open_page(f"{address}&lang=zh", reduced_motion="reduce"))
        expect(chinese.locator("#numbers-title")).to_have_text("生产者的编号")
        expect(chinese.locator(".overview")).to_contain_text("Orders 缺 3 个编号")


def test_unknown_and_refused_numbers_are_shown_and_the_unknown_said_at_the_top(tmp_path, open_page, monkeypatch):
    monkeypatch.setattr(stored_numbers, "SETTLING_MS", 0)
    with LiveServer(tmp_path / "data") as server:
        messages = [*map(numbered, (0, 1, 3, 5)), numbered(0, "till@1"), numbered(2, "till@1")]
        ledgers = [
            NumberingLedger("shop@1", "Orders", 8, refused=((2, 2),), unknown=((4, 4), (6, 7))),
            NumberingLedger("till@1", "Orders", 3, refused=((1, 1),)),
        ]
        keyed = [Message(NUMBERING_LEDGER_TOPIC, one.encode(), keys=one.producer_id) for one in ledgers]
        with ThreadPoolExecutor() as pool:  # Playwright's own event loop runs in this thread
            pool.submit(lambda: server.send(*messages, *keyed)).result()
        address = f"http://{server.server.page_address}/live?tab=messages"
        page = live(open_page(address, reduced_motion="reduce"))
        panel = page.locator("#numbers")
        shop, till = (panel.locator(f"[data-producer='{name}@1']") for name in ("shop", "till"))
        expect(shop.locator(".numbers-bad")).to_have_text(["3"])
        expect(shop.locator("td.number")).to_have_text(["4", "0", "3", "1", "0", "0", "0"])
        expect(shop.get_by_role("img")).to_have_accessible_name("Unknown: 4, 6–7")
        expect(till.get_by_role("img")).to_have_accessible_name("Nothing missing or unknown")
        expect(page.locator(".overview")).to_contain_text("3 numbers of Orders are unknown: they are not stored")
        assert findings_in_every_theme(page, "#numbers") == []
        chinese = live(open_page(f"{address}&lang=zh", reduced_motion="reduce"))
        expect(chinese.locator(".overview")).to_contain_text("Orders 有 3 个编号不明")
