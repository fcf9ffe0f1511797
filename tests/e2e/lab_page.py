"""Opens worlds of the lab in the browser and reads what their page shows."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def opened(page: Page) -> Page:
    """Wait until the page has its world."""
    page.wait_for_selector("#connection[data-status=live]")
    page.wait_for_selector("#stage .node")
    return page


def event_number(page: Page) -> int:
    """The number of the event that is shown."""
    return int(page.locator("#event-number").get_attribute("data-event") or 0)


def expect_event(page: Page, number: int) -> None:
    """Wait until the event with this number is shown."""
    expect(page.locator("#event-number")).to_have_attribute("data-event", str(number))


def run_until(page: Page, kind: str, contains: str = "", node: str = "") -> None:
    """Use the dialog "Run until" and wait until the world has stopped there."""
    before = event_number(page)
    page.locator("#run-until").click()
    page.locator("#run-until-dialog select[name=on]").select_option(kind)
    if node:
        page.locator("#run-until-dialog select[name=node]").select_option(node)
    page.locator("#run-until-dialog input[name=contains]").fill(contains)
    page.locator("#run-until-dialog button[type=submit]").click()
    page.wait_for_function(
        "before => Number(document.querySelector('#event-number').dataset.event) > before", arg=before
    )
    expect(page.locator(".banner progress")).to_have_count(0)


def run_to_ms(page: Page, time_ms: int) -> None:
    """Run to a point in virtual time."""
    before = event_number(page)
    page.locator("#run-until").click()
    page.locator("#run-until-dialog select[name=on]").select_option("time")
    page.locator("#run-until-dialog input[name=time_ms]").fill(str(time_ms))
    page.locator("#run-until-dialog button[type=submit]").click()
    page.wait_for_function(
        "before => Number(document.querySelector('#event-number').dataset.event) > before", arg=before
    )
    expect(page.locator(".banner progress")).to_have_count(0)


def scrub_to(page: Page, number: int) -> None:
    """Drag the scrub bar to an event."""
    page.locator("#scrub").evaluate(
        "(bar, number) => { bar.value = number; bar.dispatchEvent(new Event('input', { bubbles: true }));"
        " bar.dispatchEvent(new Event('change', { bubbles: true })); }",
        number,
    )
    expect_event(page, number)


def open_faults(page: Page, node: str) -> None:
    """Open the menu of a node's faults."""
    page.locator(f"[data-node={node}] .fault-button").click()
    expect(page.locator("#fault-dialog")).to_be_visible()
