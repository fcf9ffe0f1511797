"""Dead letters, delay levels and the trail of a message on the live page of a real broker."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import expect

from engine.broker.foundation.broker_config import BrokerConfig
from engine.store.files.store_config import MessageStoreConfig
from tests.app.live.test_live_dead_letters import bury, groups
from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.conftest import live
from tests.support.live.live_server import LiveServer, message


def in_another_thread(work):
    """Playwright's own event loop runs in this one."""
    with ThreadPoolExecutor() as pool:
        return pool.submit(work).result()


def test_an_operator_finds_out_what_happened_and_resends_dead_letters(tmp_path, open_page):
    store = MessageStoreConfig(mapped_file_size_commit_log=1024 * 1024, message_delay_level="1s 1s 1s 1s 1h")
    with LiveServer(tmp_path / "data", broker=BrokerConfig(port=0), store=store) as server:
        in_another_thread(lambda: bury(server, "billing", "orders", *[f"order-{n}" for n in range(22)]))
        in_another_thread(lambda: server.send(message("orders", keys="later", delay_level=5)))
        page = live(open_page(f"http://{server.server.page_address}/live?tab=dead-letters", reduced_motion="reduce"))
        level = page.locator("#delay-levels [data-level='5']")
        expect(level).to_contain_text(re.compile(r"1h.*Q4.*1 waiting.*(59(\.\d)?m|1h)", re.DOTALL))
        expect(page.locator("#delay-levels .delay-cell.has-waiting")).to_have_text(re.compile("1h"))
        panel, dialog = page.locator("#dead-letters"), page.locator("#resend-dialog")
        expect(panel.locator("[data-dead-letter]")).to_have_count(20)
        expect(panel.locator(".dead-pager")).to_contain_text("2 to 21; 22 kept")
        panel.get_by_role("button", name="Older").click()
        expect(panel.locator("[data-dead-letter='0']")).to_contain_text("orders")
        assert findings_in_every_theme(page) == []

        # What happened to one of them: its trail leads from copy to copy.
        panel.locator("[data-dead-letter='0'] .dead-key").click()
        trail = page.locator("#inspector .life-single")
        expect(trail.locator("[data-step]")).to_have_count(3)
        expect(trail.locator(".life-track [data-mark]")).to_have_count(3)
        expect(trail.locator("[data-group=billing]")).to_contain_text("not delivered any more")
        trail.locator("[data-step=stored] button").click()
        expect(page.locator("#inspector-title")).to_contain_text("orders")
        expect(trail.locator("[data-step=stored]")).to_have_attribute("aria-current", "step")
        assert findings_in_every_theme(page, "#inspector") == []
        page.keyboard.press("Escape")

        # One with the keyboard, after a question; then all others.
        panel.locator("[data-resend='0']").focus()
        page.keyboard.press("Enter")
        expect(dialog).to_contain_text("Group billing only")
        assert findings_in_every_theme(page, "#resend-dialog") == []
        dialog.locator("input[value=topic]").check()
        dialog.locator("[type=submit]").click()
        expect(panel.locator(".action-result")).to_be_focused()
        expect(panel.locator("[data-dead-letter='0']")).to_contain_text("resent: orders Q")
        panel.get_by_role("button", name="Resend all").click()
        expect(dialog).to_contain_text("Resend all 22 dead letters of group billing?")
        dialog.locator("[type=submit]").click()
        expect(panel.locator(".action-result")).to_contain_text("21 resent; 1 skipped: already resent")
        assert groups(server)["billing"]["count"] == 22
