"""A browser, page servers over made-up brokers, and pages that fail their test when their console shows an error."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from app.pictures.chromium import LAUNCH_ARGUMENTS, find_chromium
from scripts.chromium import how_to_get, missing_packages
from tests.conftest import IN_CI
from tests.e2e.scenes import Scene, serve_scene
from tests.interop.harness.cluster import Cluster

#: Playwright waits this long for what a test does or expects before it fails. It is for a machine on which many things
#: run at once: where all is well no test waits this long.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """A headless Chromium. Without one the test is skipped, or fails where a browser is required (in CI).

    One for all tests of this folder, not per session: while Playwright's synchronous interface is open, its event loop
    counts as running in this thread, and ``asyncio.run`` of a test elsewhere would refuse.
    """
    if missing := missing_packages():
        reason = f"browser tests cannot run here: {how_to_get(missing)}"
        if IN_CI or os.environ.get("GLASSMQ_REQUIRE_BROWSER") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(LAUNCH_ARGUMENTS))
        yield browser
        browser.close()


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

    def close(self) -> None:
        """Close all pages; none may have complained in its console."""
        for context in self.contexts:
            for page in context.pages:
                # An answer that a test still changes on its way would fail, and the error would be the next test's.
                page.unroute_all(behavior="ignoreErrors")
            context.close()
        assert self.complaints == []

    def forgive(self, status: str) -> None:
        """Forget complaints about an answer with this status, which the test has provoked: the browser notes it too."""
        self.complaints[:] = [text for text in self.complaints if status not in text]

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} ({message.location})")


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[OpenPage]:
    """Opens a page at an address; at the end of the test no page may have complained in its console."""
    opener = OpenPage(chromium)
    yield opener
    opener.close()


def page_address(cluster: Cluster) -> str:
    """Where a ``glassmq serve`` of the interop harness serves its page."""
    cluster.wait_until_started()
    return re.search(r"^\s*page\s+(http\S+?)/?\s*$", cluster.processes[0].output(), re.MULTILINE).group(1)


def live(page: Page) -> Page:
    """Wait until the page shows its first snapshot."""
    page.wait_for_selector("#connection[data-status=live], #connection[data-status=resynced]")
    page.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    return page


def open_tab(page: Page, name: str) -> Page:
    """Open a tab of the live page."""
    page.locator(f"#tab-{name}").click()
    return page


def sequence(page: Page) -> int:
    """The number of the last update that the page has applied."""
    return int(page.locator("#connection").get_attribute("data-sequence") or -1)


def wait_for_update(page: Page, after: int) -> None:
    """Wait until the page has applied an update with a higher number than ``after``."""
    page.wait_for_function("after => Number(document.querySelector('#connection').dataset.sequence) > after", arg=after)


def choose_language(page: Page, language: str) -> None:
    """Choose the page's language, in the menu of its button where the head has no room for it."""
    if not page.locator("#language-choice").is_visible():
        page.locator(".settings-button").click()
    page.locator("#language-choice").select_option(language)
