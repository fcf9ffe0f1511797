"""The page's end of the stream: a snapshot after every gap, and after every server that went."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import expect

from tests.e2e.conftest import live, running
from tests.e2e.scenes import small_scene
from tests.interop.harness.installs import REPOSITORY
from tests.interop.harness.ports import free_port


def test_a_missing_number_brings_a_snapshot(serve, open_page):
    """One patch is swallowed on its way into the page; the page must notice and end with the true state."""
    scene = small_scene(lively=False)
    address = serve(scene)
    page = open_page(f"{address}/")  # any page of the same origin, to prepare the next
    page.add_init_script(
        """window.sent = [];
        const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (data) {
          if (typeof data === 'string') window.sent.push(data);
          if (!this.hasFilter) {
            this.hasFilter = true;
            const deliver = this.onmessage;
            this.onmessage = (event) => {
              if (window.swallow && typeof event.data === 'string' && event.data.includes('"patch"')) {
                window.swallow -= 1;
                return;
              }
              deliver.call(this, event);
            };
          }
          return send.call(this, data);
        };"""
    )
    page.goto(f"{address}/live")
    live(page)
    page.wait_for_function("() => window.sent.some((text) => text.includes('acknowledge'))")
    page.evaluate("window.swallow = 1")
    scene.send("orders", "swallowed", 0)
    page.wait_for_function("() => window.swallow === 0")
    expect(page.locator("[data-queue='orders@0'] [data-cell=max]")).to_have_text("1,200")
    scene.send("orders", "seen", 1)
    expect(page.locator("[data-queue='orders@0'] [data-cell=max]")).to_have_text("1,201")
    expect(page.locator("[data-queue='orders@1'] [data-cell=max]")).to_have_text("1,201")
    assert page.evaluate("window.sent.filter((text) => text.includes('\"resync\"')).length") == 1


def test_the_banner_says_when_the_server_is_gone(open_page):
    with running(small_scene(lively=False)) as address:
        page = live(open_page(f"{address}/live"))
        page.context.set_offline(True)
        page.evaluate("() => undefined")
        expect(page.locator("#connection")).to_have_attribute("data-status", "reconnecting")
        expect(page.locator("#connection")).to_contain_text("Disconnected, reconnecting")
        page.context.set_offline(False)
        expect(page.locator("#connection")).to_have_attribute("data-status", "resynced")
    open_page.complaints.clear()  # the browser itself logs the connection that failed


@contextmanager
def scene_process(port: int, scene: str) -> Iterator[None]:
    """A page server as a process of its own, that a test can kill."""
    command = [sys.executable, "-m", "tests.e2e.scenes", "--scene", scene, "--http-port", str(port)]
    process = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert "/live" in process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()


def test_a_page_finds_its_killed_server_again_and_shows_the_new_state(open_page):
    port = free_port()
    with scene_process(port, "small"):
        page = live(open_page(f"http://127.0.0.1:{port}/live"))
        expect(page.locator("[data-topic=orders]")).to_have_count(1)
    expect(page.locator("#connection")).to_contain_text("Disconnected, reconnecting")
    expect(page.locator("[data-topic=orders]")).to_have_count(1)  # the last known state stays to be read
    with scene_process(port, "empty"):
        expect(page.locator("#connection")).to_have_attribute("data-status", "resynced")
        expect(page.locator("[data-topic=orders]")).to_have_count(0)
        page.close()  # before this server goes too
    open_page.complaints.clear()  # the browser itself logs the connections that failed
