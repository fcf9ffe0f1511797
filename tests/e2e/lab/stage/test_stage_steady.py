"""The stage can be read, and nothing on it moves while one steps; what a person folds stays folded."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.lab.lab_page import event_number, expect_event, run_to_ms
from tests.e2e.lab.stage.test_stage_map import all_are_whole, opened_at, settled
from tests.e2e.letters import letters
from tests.e2e.scenes import empty_scene

#: Where every card stands on the screen.
PLACES = """() => Object.fromEntries([...document.querySelectorAll('#stage .node')].map((node) => {
    const { left, top } = node.getBoundingClientRect();
    return [node.id, [Math.round(left), Math.round(top)]];
}))"""


@pytest.fixture
def address(serve) -> str:
    return serve(empty_scene())


@pytest.mark.parametrize(
    ("scenario", "size", "times_ms", "least_px"),
    [
        ("three-locks", "small", [7_000], 11),
        ("xa-two-phase", "desk", [30_000], 11),
        ("big-stage", "desk", [4_000], 11),
        # A run shows some of its moments only; the layout that the fullest one needs is kept. Here all three
        # consumers, and then two of them, hold what failed.
        ("retry-to-dead-letter", "small", [1_658, 11_660, 600_000], 11),
        # What cannot be folded any more may be smaller, and is never smaller than this.
        ("xa-two-phase", "small", [30_000], 9),
    ],
)
def test_all_nodes_are_whole_in_letters_that_can_be_read(address, open_page, scenario, size, times_ms, least_px):
    page = opened_at(open_page, address, scenario, size)
    for time_ms in times_ms:
        run_to_ms(page, time_ms)
        all_are_whole(page)
        settled(page)
    assert letters(page) >= (least_px, "")


@pytest.mark.parametrize(
    ("scenario", "times_ms"),
    [
        ("three-locks", [3_900]),
        ("big-stage", [2_000]),
        # Cards keep the room that they once needed: for local transactions, of which a run shows some moments only.
        ("xa-two-phase", [2_100, 6_100, 10_100, 14_000]),
    ],
)
def test_no_card_moves_while_one_steps(address, open_page, scenario, times_ms):
    page = opened_at(open_page, address, scenario, "desk")
    for time_ms in times_ms:
        run_to_ms(page, time_ms)
        all_are_whole(page)
    settled(page)
    before, start = page.evaluate(PLACES), event_number(page)
    for number in range(start + 1, start + 61):
        page.locator("#control-step").click()
        expect_event(page, number)
    settled(page)
    assert page.evaluate(PLACES) == before


def test_what_a_person_folds_stays_folded_in_that_scenario(address, open_page):
    page = opened_at(open_page, address, "three-locks", "desk")
    run_to_ms(page, 2_000)
    page.locator("#node-P1 .fold-button").click()
    expect(page.locator("#node-P1.is-folded")).to_be_visible()
    page.reload()
    expect(page.locator("#node-P1.is-folded")).to_be_visible()
    page.goto(f"{address}/lab/hello")
    run_to_ms(page, 1_000)
    expect(page.locator("#node-P1:not(.is-folded)")).to_be_visible()


def test_on_a_phone_the_legend_is_there_too(address, open_page):
    page = open_page(f"{address}/lab/three-locks", viewport={"width": 390, "height": 844})
    page.locator("#legend-button").click()
    expect(page.locator("#legend")).to_be_visible()


#: Notes the names of the components that Preact draws from now on, by its hook before each (`_render`, minified).
NOTE_RENDERS = """async () => {
    const { options } = await import('preact');
    const { view } = await import('/static/common/world/view.js');
    const before = options.__r;
    window.rendered = [];
    options.__r = (vnode) => (window.rendered.push(vnode.type.name), before?.(vnode));
    window.trees = () => Object.values(view.peek().nodes).flatMap(({ process_queues: queues = {} }) =>
        Object.values(queues).flatMap(({ tree, consuming_tree: taken }) => [tree, taken]));
}"""
#: What stays as it is while one steps, and would cost most.
SAME_AT_EACH_STEP = {"Stage", "Column", "Title", "TimeButtons", "TimeButton", "HalfDialog", "Dialog", "Rule"}


@pytest.mark.parametrize(("scenario", "time_ms"), [("three-locks", 3_900), ("big-stage", 2_000)])
def test_a_step_draws_only_what_it_has_changed(address, open_page, scenario, time_ms):
    page = opened_at(open_page, address, scenario, "desk")
    run_to_ms(page, time_ms)
    settled(page)
    # The first step names its event and leaves the end of "run until": what that changes is drawn.
    start = event_number(page) + 1
    page.locator("#control-step").click()
    expect_event(page, start)
    settled(page)
    page.evaluate(NOTE_RENDERS)
    changed = 0
    for number in range(start + 1, start + 31):
        page.evaluate("() => { window.before = window.trees(); }")
        page.locator("#control-step").click()
        expect_event(page, number)
        changed += page.evaluate("() => window.trees().filter((tree) => tree && !window.before.includes(tree)).length")
    rendered = page.evaluate("() => window.rendered")
    assert "NodeCard" in rendered
    assert SAME_AT_EACH_STEP & set(rendered) == set()
    assert rendered.count("Tree") <= changed
