"""A page server over a made-up broker, and a browser page that fails its test when the console shows an error."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.e2e.scenes import Scene, serve_scene
from tests.interop.harness.cluster import Cluster

#: Playwright waits this long for what a test expects before it fails.
PATIENCE_MS = 15_000


@contextmanager
def running(scene: Scene) -> Iterator[str]:
    """Serve ``scene``; yields the address of its page server."""
    listener, server = serve_scene(scene)
    server.stream.start()
    thread = threading.Thread(target=listener.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{listener.bound_address}"
    finally:
        server.stream.stop()
        listener.shutdown()
        thread.join(timeout=10)


@pytest.fixture
def serve() -> Iterator[Callable[[Scene], str]]:
    """A function that serves a scene for the length of the test and returns its address."""
    open_scenes = []

    def start(scene: Scene) -> str:
        context = running(scene)
        open_scenes.append(context)
        return context.__enter__()

    yield start
    for context in reversed(open_scenes):
        context.__exit__(None, None, None)


class OpenPage:
    """Opens pages and remembers what their consoles complained about."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.complaints: list[str] = []
        self.contexts = []

    def __call__(self, address: str, **context_options) -> Page:
        options = {"viewport": {"width": 1440, "height": 900}, "locale": "en-US", **context_options}
        context = self.browser.new_context(**options)
        self.contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.on("console", self._note_console)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.goto(address)
        return page

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location})")


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens a page at an address; at the end of the test no page may have complained in its console."""
    opener = OpenPage(browser)
    yield opener
    for context in opener.contexts:
        context.close()
    assert opener.complaints == []


def page_address(cluster: Cluster) -> str:
    """Where a ``glassmq serve`` of the interop harness serves its page."""
    cluster.wait_until_started()
    return re.search(r"^\s*page\s+(http\S+?)/?\s*$", cluster.processes[0].output(), re.MULTILINE).group(1)


def live(page: Page) -> Page:
    """Wait until the page has its first snapshot."""
    page.wait_for_selector("#connection[data-status=live], #connection[data-status=resynced]")
    return page


def sequence(page: Page) -> int:
    """The number of the last update that the page has applied."""
    return int(page.locator("#connection").get_attribute("data-sequence") or -1)


def wait_for_update(page: Page, after: int) -> None:
    """Wait until the page has applied an update with a higher number than ``after``."""
    page.wait_for_function("after => Number(document.querySelector('#connection').dataset.sequence) > after", arg=after)
