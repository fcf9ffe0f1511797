"""The panel "Inside the clients": what live members hold, in the language of the lab's stage."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import expect

from app.live.client_answers import running_info_view
from app.picture.process_queue import ProcessQueue
from engine.client import ConsumeOrderlyStatus
from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.conftest import live
from tests.e2e.scenes import small_scene
from tests.support.live.consumer_thread import consumer_of_orders
from tests.support.live.live_server import LiveServer, message


def queue(queue_id, held=(), **facts):
    """A queue as a Java client reports it; ``held``: number of messages, and their first and last offset."""
    count, first, last = held or (0, None, None)
    nothing = dict.fromkeys(ProcessQueue.__annotations__)
    reported = {
        "topic": "orders",
        "broker": "broker-a",
        "queue_id": queue_id,
        "waiting": {"count": count, "first": first, "last": last},
        "in_hand": {"count": 0, "first": None, "last": None},
        "message_count": count,
        "consume_offset": 7,
    }
    return {**nothing, **reported, "dropped": False, "locked": False, **facts}


def member(client_id, language, queues=(), **facts):
    reported = {"state": "told", "address": f"127.0.0.1:{4000 + len(client_id)}", "language": language, "version": 409}
    known = {"remark": "", "orderly": True, "threads": 20, "untold": ["trees"]}
    asked = {"client_id": client_id, "queues": [*queues], "asked_us": 1, "answered_us": 1}
    return {**running_info_view(b"{}"), **asked, **reported, **known, **facts}


def scene_with_internals():
    scene = small_scene(lively=False)
    now = scene.now_ms
    held = {"locked": True, "locked_us": (now + 3_600_000) * 1000}
    for client in ("java@1", "java@2", "js@3"):
        scene.name_client(client, consumes=True)
    scene.internals["billing"] = {
        "members": [
            member("java@1", "JAVA", [queue(0, (3, 7, 9), **held), queue(1, dropped=True)]),
            member("java@2", "JAVA", [queue(0, (40, 7, 90), **held), queue(2, (3, 2_741_231, 2_741_233))]),
            member("js@3", "JAVA", state="silent", answered_us=None, untold=[]),
        ],
        "retries": [
            {"key": "order-5", "topic": "orders", "offset": 0, "queue_id": 2, "queue_offset": 1, "reconsume_times": 2}
            | {"due_us": (now + 20_000) * 1000}
        ],
        "are_all_retries": False,
    }
    scene.lease("billing", "orders", 0, "java@2")
    scene.lease("billing", "orders", 3, "left@4")
    return scene


def opened(page, group="billing"):
    panel = live(page).locator("#internals")
    panel.locator("select").select_option(group)
    panel.scroll_into_view_if_needed()
    return panel


def test_each_kind_of_client_shows_what_it_tells_and_what_is_wrong_is_red_and_in_words(serve, open_page):
    scene = scene_with_internals()
    name = scene.tree["client_names"]["java@2"]
    page = open_page(f"{serve(scene)}/live?tab=consumers")
    panel = opened(page)
    first, second, third = (panel.locator(f"[data-member='{name}']") for name in ("java@1", "java@2", "js@3"))
    expect(first).to_contain_text("do not report: trees and local locks")
    expect(first.locator("[data-process-queue='orders@0'] .cell")).to_have_text(["7", "8", "9"])
    expect(first.locator("[data-process-queue='orders@0'] .badge-bad")).to_have_text(f"also held by {name}")
    expect(first.locator("[data-process-queue='orders@0'] .pill.is-off")).to_contain_text(f"held by {name}")
    expect(first.locator("[data-process-queue='orders@1'] .badge-warning")).to_have_text("dropped")
    expect(second.locator("[data-process-queue='orders@0'] .pill.is-held")).to_contain_text("Broker lock")
    expect(second.locator("[data-process-queue='orders@0'] .held-cells")).to_contain_text("… 38 …")
    expect(second.locator("[data-process-queue='orders@2'] .pill.is-free")).to_contain_text("not locked")
    expect(second.locator("[data-range]")).to_have_text("2,741,231–2,741,233")  # its cells have no room for it
    expect(third).to_contain_text("does not answer")
    expect(panel.locator("[data-lock='billing orders@0']")).to_contain_text(name)
    expect(second.locator(".client-sign")).to_have_text(name)
    expect(panel.locator("[data-lock='billing orders@3']")).to_contain_text("offline")
    expect(panel.locator("[data-retry='order-5']")).to_contain_text("↻2")
    expect(panel.locator("[data-part=retries]")).to_contain_text("There may be more")
    assert findings_in_every_theme(page, "#internals") == []


def test_clients_are_asked_while_the_panel_is_on_the_screen_and_the_view_goes_on(serve, open_page):
    address = f"{serve(scene_with_internals())}/live?tab=consumers"
    page = live(open_page(address, viewport={"width": 1440, "height": 500}))
    page.clock.install()
    page.reload()
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "/live/clients" in request.url else None)
    expect(page.locator("#internals")).to_contain_text("Polling the members")
    page.clock.run_for(5_000)
    assert asked == []
    with page.expect_request("**/api/live/clients?group=billing"):
        opened(page)
    expect(page.locator("[data-member='java@1']")).to_be_visible()
    page.locator("#internals-title").click()  # no longer in the list, where letters choose a group
    page.keyboard.press("p")
    expect(page.locator("#connection")).to_have_attribute("data-status", "paused")
    asked.clear()
    page.clock.run_for(5_000)
    assert asked == []


def test_a_tree_of_our_own_client_is_drawn_and_a_message_of_it_opens_as_a_record(tmp_path, open_page):
    go_on = asyncio.Event()

    async def listen(messages, context):
        await go_on.wait()
        return ConsumeOrderlyStatus.SUCCESS

    with LiveServer(tmp_path / "data", allow_faults=True) as server:
        with ThreadPoolExecutor(1) as beside:  # this thread's event loop is Playwright's
            beside.submit(server.create_topic, "orders", 1).result()
            beside.submit(server.send, *[message("orders", keys=f"k{number}") for number in range(4)]).result()
        with consumer_of_orders(server, listen, orderly=True) as owner:
            page = open_page(f"http://{server.server.page_address}/live?tab=consumers")
            held = opened(page).locator("[data-process-queue='orders@0']")
            expect(held).to_contain_text("4 held")
            for letter in ("B", "Q", "P", "↻"):
                expect(held.locator(".pill.is-held", has_text=letter)).to_have_count(1)
            expect(held.locator("[data-tree=consumingMsgOrderlyTreeMap] .cell")).to_have_text("0")
            page.locator("#internals").get_by_label("Draw trees").check()
            drawn = held.locator("figure[data-tree=msgTreeMap] svg")
            drawn.focus()
            page.keyboard.press("End")
            page.keyboard.press("Enter")
            expect(page.locator("#inspector")).to_contain_text("k3")
            page.keyboard.press("Escape")
            page.locator("#internals [data-lock='billing orders@0'] .bolt").click()
            expect(page.get_by_role("dialog")).to_contain_text("orders, queue 0")
            page.keyboard.press("Escape")
            assert findings_in_every_theme(page, "#internals") == []
            server.break_it("group-lock", group="billing", on=False)
            expect(held.locator(".pill.is-off")).to_contain_text("Broker lock")
            expect(page.locator("#internals [data-part=locks]")).to_contain_text("grants every queue to every client")
            owner.call_soon(go_on.set)
            expect(held).to_contain_text("0 held")
            expect(held.locator(".pill", has_text="Queue lock")).to_contain_text("free")
