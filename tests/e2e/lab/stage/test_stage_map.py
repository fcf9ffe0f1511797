"""The stage fits itself, zooms and pans like a map; the drawer next to it; what a scenario suggests."""

from __future__ import annotations

from itertools import product

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.lab.lab_page import event_number, expect_event, opened, run_to_ms, scrub_to
from tests.e2e.scenes import empty_scene

SIZES = {"desk": (1440, 900), "projector": (1920, 1080), "small": (1024, 768)}

#: Edges by which nodes stick out of the stage, in pixels: nothing when all are whole.
STICKS_OUT = """() => {
    const frame = document.querySelector('#stage').getBoundingClientRect();
    return [...document.querySelectorAll('#stage .node')].flatMap((node) => {
        const box = node.getBoundingClientRect();
        const over = Math.max(frame.left - box.left, box.right - frame.right,
                              frame.top - box.top, box.bottom - frame.bottom);
        return over > 1 ? [`${node.id}: ${over.toFixed(0)}`] : [];
    });
}"""
#: From now on: what moves up or down on the page by itself, by name and pixels.
SHIFTS = """() => {
    window.seenShifts = [];
    new PerformanceObserver((list) => {
        for (const entry of list.getEntries())
            for (const { node, previousRect, currentRect } of entry.sources) {
                const moved = Math.abs(previousRect.y - currentRect.y);
                if (moved > 3) window.seenShifts.push(`${node?.className ?? "text"} ${moved.toFixed(0)}`);
            }
    }).observe({ type: 'layout-shift' });
}"""


@pytest.fixture
def address(serve) -> str:
    return serve(empty_scene())


def opened_at(open_page, address: str, scenario: str, size: str) -> Page:
    width, height = SIZES[size]
    theme = "projector" if size == "projector" else "light"
    return opened(open_page(f"{address}/lab/{scenario}?theme={theme}", viewport={"width": width, "height": height}))


def all_are_whole(page: Page) -> None:
    """Wait until no node sticks out of the stage."""
    page.wait_for_function(f"() => ({STICKS_OUT})().length === 0")


def settled(page: Page) -> None:
    """Wait until the stage has glided to where it fits."""
    page.wait_for_function(
        "() => document.querySelector('.lab-stage-inner').getAnimations().length === 0"
        " && new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
    )


# On a projector larger stages keep large letters instead, and move to what acts: test_presentation.py.
@pytest.mark.parametrize(
    ("scenario", "size"),
    [*product(["three-locks", "xa-two-phase", "big-stage"], ["desk", "small"]), ("three-locks", "projector")],
)
def test_every_node_is_whole_in_every_window(address, open_page, scenario, size):
    page = opened_at(open_page, address, scenario, size)
    run_to_ms(page, 4_500)
    all_are_whole(page)


def test_on_a_phone_the_nodes_stand_below_each_other_and_nothing_is_wider_than_the_page(address, open_page):
    page = opened(open_page(f"{address}/lab/three-locks", viewport={"width": 390, "height": 844}))
    run_to_ms(page, 4_500)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    boxes = [page.locator(f"#node-{name}").bounding_box() for name in ("P1", "B1", "C1", "C2")]
    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= 390 for box in boxes)


def test_the_wheel_and_the_keys_zoom_and_one_key_shows_everything_again(address, open_page):
    page = opened_at(open_page, address, "three-locks", "desk")
    scale = page.locator(".map-scale")
    fitting = scale.inner_text()
    page.locator("#stage").hover(position={"x": 30, "y": 400})
    page.mouse.wheel(0, -500)
    expect(scale).not_to_have_text(fitting)
    expect(page.locator("#map-fit")).to_be_visible()
    page.locator("#stage").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("0")
    expect(scale).to_have_text(fitting)
    all_are_whole(page)


def test_who_zoomed_in_is_taken_to_the_node_that_breaks(address, open_page):
    page = opened_at(open_page, address, "three-locks", "desk")
    page.locator("[data-node=B1] [data-lock-switch]").click()
    page.locator("#actions [data-kind=switch]").click()
    for _ in range(4):
        page.locator("#map-in").click()
    page.locator("#stage").focus()
    for _ in range(12):
        page.keyboard.press("ArrowRight")
    page.locator("#control-play").click()
    expect(page.locator("#node-C2.is-accused")).to_be_in_viewport(ratio=0.3)


def test_the_drawer_gives_its_width_to_the_stage_and_is_remembered(address, open_page):
    page = opened_at(open_page, address, "hello", "desk")
    beside = page.locator("#stage").bounding_box()["width"]
    assert 0.66 * 1440 < beside < 0.78 * 1440
    page.locator("#drawer-close").click()
    expect(page.locator(".drawer")).to_have_count(0)
    assert page.locator("#stage").bounding_box()["width"] == 1440
    page.reload()
    opened(page)
    expect(page.locator(".drawer")).to_have_count(0)
    page.get_by_role("button", name="Invariants").click()
    expect(page.locator("#panel-invariants")).to_be_visible()


def test_what_looks_under_the_bonnet_waits_behind_the_experts_switch(address, open_page):
    page = opened_at(open_page, address, "hello", "desk")
    expect(page.get_by_role("tab", name="Faults")).to_be_visible()
    expect(page.get_by_role("tab", name="Source")).to_have_count(0)
    page.locator("#expert").click()
    page.get_by_role("tab", name="Source").click()
    expect(page.locator("#panel-source")).to_be_visible()
    page.reload()
    opened(page)
    expect(page.get_by_role("tab", name="Source")).to_be_visible()


def test_a_shortcut_to_an_experts_panel_turns_the_switch_on(address, open_page):
    page = opened_at(open_page, address, "hello", "desk")
    page.keyboard.press("t")
    expect(page.locator("#panel-timers")).to_be_focused()


def test_the_suggestion_does_what_it_says_and_stays_until_it_is_put_aside(address, open_page):
    page = opened_at(open_page, address, "three-locks", "desk")
    card = page.locator(".try-card")
    card.get_by_role("button", name="Run until C2 joins").click()
    expect(page.locator("#virtual-time")).to_contain_text("3.990")
    card.get_by_role("button", name="Switch the broker lock off").click()
    expect(page.locator(".actions")).to_contain_text("Toggle a lock")
    expect(card).to_be_visible()
    card.get_by_role("button", name="Dismiss this suggestion").click()
    expect(card).to_have_count(0)


def test_the_duplicate_is_said_in_the_caption_with_both_listeners_in_view(address, open_page):
    page = opened_at(open_page, address, "three-locks", "desk")
    page.locator(".try-buttons button").first.click()
    expect(page.locator(".moment-violation")).to_contain_text("twice at the same time")
    all_are_whole(page)
    for name in ("C1", "C2"):
        expect(page.locator(f"#node-{name} .listener-call .is-accused")).to_be_in_viewport(ratio=0.99)


def test_nothing_jumps_while_one_steps_through_what_the_cards_have_room_for(address, open_page):
    page = opened_at(open_page, address, "three-locks", "desk")
    run_to_ms(page, 2_600)
    start = event_number(page)

    def step_through() -> None:
        for number in range(start + 1, start + 40):
            page.locator("#control-step").click()
            expect_event(page, number)
        settled(page)

    step_through()
    scrub_to(page, start)
    settled(page)
    page.evaluate(SHIFTS)
    step_through()
    assert page.evaluate("() => window.seenShifts") == []
