"""What the tests of the site need of its pages."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.e2e.lab.lab_page import expect_event, open_share

#: On a busy machine Python takes half a minute to start in the browser.
STARTED_WITHIN_MS = 240_000
#: Lessons of different parts: ordinary messages, half messages, two-phase commit and Kafka's log.
LESSONS = ["01-first-message", "07-half-messages", "10-two-phase-commit", "22-commit-log-and-partition-log"]


def apart(function, *arguments):
    """Call a function that runs worlds in a thread of its own: in this one Playwright's loop counts as running."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(function, *arguments).result()


def ask(page, site, address):
    """What the page's own requests answer."""
    return page.evaluate(
        "async ([module, address]) => (await import(module)).get(address)",
        [f"{site}/static/common/request.js", address],
    )


def shown(page, event):
    """Return the link to an event, and the cards of the stage there."""
    expect_event(page, event)
    link = open_share(page).locator("#share-link").input_value()
    page.keyboard.press("Escape")
    return link.split("#")[1], page.locator("#stage [data-node]").all_inner_texts()


#: Lets a test send messages to the worker of the page.
KNOWN_WORKER = """
globalThis.Worker = class extends Worker {
  constructor(...options) {
    super(...options);
    globalThis.worker = this;
  }
};
"""
