"""Opens worlds of the lab in the browser and reads what their page shows."""

from __future__ import annotations

from playwright.sync_api import Locator, Page, expect

EXPERT_PANELS = ("source", "timers", "actors", "settings", "frames")
#: From now on: the names of the frames that were crossed out on the stage, however short.
NOTE_CROSSED_OUT = """() => {
    window.crossed = [];
    new MutationObserver(() => {
        for (const frame of document.querySelectorAll('.flights .frame-lost')) window.crossed.push(frame.ariaLabel);
    }).observe(document.querySelector('.flights'), { childList: true, subtree: true, attributeFilter: ['class'] });
}"""


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
    wait_until_it_stands(page, after=before)


def run_to_ms(page: Page, time_ms: int) -> None:
    """Run to a point in virtual time."""
    before = event_number(page)
    page.locator("#run-until").click()
    page.locator("#run-until-dialog select[name=on]").select_option("time")
    page.locator("#run-until-dialog input[name=time_ms]").fill(str(time_ms))
    page.locator("#run-until-dialog button[type=submit]").click()
    wait_until_it_stands(page, after=before)


def wait_until_it_stands(page: Page, after: int) -> None:
    """Wait until the world has run further than event ``after``, rests at its target, and the page shows that."""
    page.evaluate("async () => { window.labView = (await import('/static/common/world/view.js')).view; }")
    page.wait_for_function(
        """(before) => {
             const { busy, event } = window.labView.peek();
             return busy === null && event > before && document.querySelector('#event-number').dataset.event == event;
           }""",
        arg=after,
    )


def scrub_to(page: Page, number: int) -> None:
    """Drag the scrub bar to an event."""
    page.locator("#scrub").evaluate(
        "(bar, number) => { bar.value = number; bar.dispatchEvent(new Event('input', { bubbles: true }));"
        " bar.dispatchEvent(new Event('change', { bubbles: true })); }",
        number,
    )
    expect_event(page, number)


def open_share(page: Page) -> Locator:
    """Open the dialog with everything that can be taken away from a run."""
    page.locator("#share").click()
    dialog = page.locator("#share-dialog")
    expect(dialog).to_be_visible()
    return dialog


def open_faults(page: Page, node: str) -> None:
    """Open the menu of a node's faults."""
    page.locator(f"[data-node={node}] .fault-button").click()
    expect(page.locator("#actions")).to_be_visible()


def show_panel(page: Page, name: str) -> None:
    """Choose a panel's tab; panels about internals need the expert's switch."""
    if page.locator("#drawer-open").count():
        page.locator("#drawer-open").click()
    tab = page.locator(f"#tab-{name}")
    if name in EXPERT_PANELS and tab.count() == 0:
        page.locator("#expert").click()
    tab.click()
