"""Messages of a topic by time: a span is chosen, its pages are turned, and a row opens as a record."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.conftest import live
from tests.support.live.live_server import LiveServer, message


def test_messages_of_a_span_are_listed_turned_and_opened(tmp_path, open_page):
    with LiveServer(tmp_path) as server, ThreadPoolExecutor(1) as elsewhere:  # the browser's event loop runs here
        elsewhere.submit(server.create_topic, "orders", 2).result()
        sent = [message("orders", f"body {number}", keys=f"k{number}") for number in range(60)]
        elsewhere.submit(server.send, *sent).result()
        page = live(open_page(f"http://{server.server.page_address}/live?tab=messages", reduced_motion="reduce"))
        page.get_by_role("radio", name="Topic and time").check(force=True)
        form, result = page.locator(".search-form"), page.locator(".search-result")
        form.locator("[name=topic]").select_option("orders")
        form.get_by_role("button", name="Find").click()
        rows, pages = result.locator(".record-row"), result.locator(".time-pages")
        expect(rows).to_have_count(50)
        expect(pages).to_contain_text("1 to 50 of 60")
        expect(rows.first).to_contain_text("k59")
        expect(rows.first).to_contain_text("127.0.0.1:")
        assert findings_in_every_theme(page, "#search") == []
        pages.get_by_role("button", name="Older").click()
        expect(rows).to_have_count(10)
        expect(pages).to_contain_text("51 to 60 of 60")
        rows.last.click()
        expect(page.locator("#inspector .message-body")).to_have_text("body 0")
        page.keyboard.press("Escape")
        pages.get_by_role("button", name="Newer").click()
        expect(rows).to_have_count(50)

        form.locator("[name=queue]").fill("1")
        form.get_by_role("button", name="Find").click()
        expect(pages).to_contain_text("1 to 30 of 30")
        form.locator("[name=span]").select_option("custom")
        form.locator("[name=from]").fill("2001-02-03T04:05:06")
        form.locator("[name=to]").fill("2001-02-03T04:05:07")
        form.get_by_role("button", name="Find").click()
        expect(result).to_contain_text("No message of this topic was stored in this time")
        form.locator("[name=to]").fill("2000-02-03T04:05:07")
        form.get_by_role("button", name="Find").click()
        expect(result.get_by_role("alert")).to_contain_text("is later than to")
        open_page.forgive("400")
