"""Lessons in Chromium: predicting, doing, being shown, by hand and by keyboard, and when things go wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

import app.lab.session.host
import app.lab.session.worlds
from app.lessons.lesson_files import lesson_names
from app.lessons.stage_targets import TARGETS
from engine.texts import LANGUAGES
from tests.e2e.accessibility import choose_theme, findings_in_every_theme
from tests.e2e.lab.lab_page import event_number, expect_event, opened, run_until
from tests.e2e.lesson_page import (
    do_it,
    go_to,
    lesson,
    lesson_data,
    link_of_world,
)
from tests.e2e.scenes import empty_scene

PROJECT = Path(__file__).parents[3]
FIRST = lesson_names()[0]


@pytest.fixture
def address(serve) -> str:
    return serve(empty_scene())


@pytest.fixture
def page(address, open_page) -> Page:
    """The first lesson, without motion: nothing is shown twice."""
    return lesson(open_page(f"{address}/tutorials/{FIRST}", reduced_motion="reduce"))


def test_a_lesson_begins_where_what_its_text_speaks_of_stands(address, open_page):
    page = lesson(open_page(f"{address}/tutorials/04-three-locks?step=join", reduced_motion="reduce"))
    expect(page.locator("[data-node=B1] [data-lock='shop Orders@1']")).to_contain_text("C1")
    expect(page.locator("#virtual-time")).to_contain_text("5.500")
    page.locator("#skip-prediction").click()
    expect(page.locator("#set-stage")).to_have_count(0)
    page.locator("#control-restart").click()
    expect_event(page, 0)
    do_it(page)


def test_a_step_opens_the_parts_that_it_points_at(address, open_page):
    page = lesson(open_page(f"{address}/tutorials/07-half-messages?step=stored", reduced_motion="reduce"))
    page.locator("#skip-prediction").click()
    do_it(page)
    expect(page.locator("[data-queue='RMQ_SYS_TRANS_HALF_TOPIC@0']")).to_be_visible()


def test_a_finished_lesson_stays_finished(address, page):
    steps = lesson_data(page)["steps"]
    for number, step in enumerate(steps, 1):
        go_to(page, number)
        if step["predict"]:
            page.locator("#skip-prediction").click()
        if step["action"]:
            do_it(page)
        expect(page.locator(".dots li").nth(number).locator(".dot-done")).to_be_visible()
    page.reload()
    lesson(page)
    expect(page.locator(".dot-done")).to_have_count(len(steps))
    expect(page.locator("#lesson-heading")).to_have_text(steps[-1]["heading"]["en"])
    page.goto(f"{address}/tutorials")
    entry = page.locator(f"[data-lesson='{FIRST}']")
    expect(entry.locator("progress")).to_have_attribute("value", str(len(steps)))
    expect(entry.locator(".lesson-state")).to_contain_text("finished")


def test_the_page_knows_every_kind_of_target(page):
    kinds = page.evaluate("async () => Object.keys((await import('/static/lessons/targets.js')).TARGETS)")
    assert sorted(kinds) == sorted(TARGETS)


def test_the_list_shows_what_is_done_and_leads_to_the_next_step(address, open_page):
    page = open_page(f"{address}/tutorials", reduced_motion="reduce")
    expect(page.locator(".lesson-item")).to_have_count(len(lesson_names()))
    page.locator(f"[data-lesson='{FIRST}'] .lesson-link").click()
    lesson(page)
    go_to(page, 1)
    page.locator("#skip-prediction").click()
    do_it(page)
    page.goto(f"{address}/tutorials")
    expect(page.locator(f"[data-lesson='{FIRST}'] .lesson-state")).to_contain_text("1 of")
    page.locator(f"[data-lesson='{FIRST}'] .lesson-link").click()
    lesson(page)
    expect(page.locator(".dots [aria-current=step]")).to_have_text("2")


def test_a_prediction_comes_first_and_is_compared_with_the_engine(page):
    number = _step_with(page, "number")
    go_to(page, number)
    expect(page.locator("#do-it")).to_be_disabled()
    page.locator("#predict-number").fill("987654")
    page.locator("#predict").click()
    result = do_it(page)
    expect(result).to_contain_text("The engine's result differs from your prediction")
    expect(result.locator("dd").first).to_contain_text("987,654")
    right = result.locator("dd").nth(1).inner_text().split()[0].replace(",", "")
    page.locator("#do-again").click()
    page.locator("#predict-number").fill(right)
    page.locator("#predict").click()
    expect(do_it(page)).to_contain_text("As you predicted")


def test_something_on_the_stage_is_clicked_or_chosen_from_the_list(page):
    go_to(page, _step_with(page, "click"))
    page.locator("#stage .is-pickable").first.click(position={"x": 20, "y": 20})
    expect(page.locator(".predict-card input:checked")).to_have_count(1)
    page.locator(".predict-card .choice-row").nth(1).click()
    expect(page.locator("#stage .is-picked")).to_have_count(1)


def test_a_step_that_is_done_by_hand_counts(page):
    step = lesson_data(page)["steps"][0]
    (action,) = step["action"]
    go_to(page, 1)
    page.locator("#skip-prediction").click()
    run_until(page, action["on"], action.get("contains", ""), action.get("node", ""))
    expect(page.locator("#result")).to_be_visible()
    expect(page.locator(".dot-done")).to_have_count(1)


def test_a_later_step_finds_its_stage_set(address, open_page):
    page = open_page(f"{address}/tutorials/{FIRST}", reduced_motion="reduce")
    last = lesson_data(page)["steps"][-1]["id"]
    page.goto(f"{address}/tutorials/{FIRST}?step={last}")
    lesson(page)
    page.wait_for_function("() => Number(document.querySelector('#event-number').dataset.event) > 100")
    page.locator("#skip-prediction").click()
    do_it(page)


def test_a_world_that_stands_elsewhere_is_brought_to_the_step(page):
    go_to(page, 4)
    page.locator("#skip-prediction").click()
    expect(page.locator("#set-stage")).to_be_visible()
    page.locator("#set-stage").click()
    expect(page.locator(".action-card")).to_contain_text("by hand")
    assert link_of_world(page) == lesson_data(page)["steps"][3]["start_link"]
    page.locator("#control-restart").click()
    expect(page.locator("#set-stage")).to_be_visible()
    do_it(page)


def test_a_step_that_does_not_come_about_says_so_and_gets_another_go(page):
    go_to(page, 1)
    page.locator("#skip-prediction").click()
    page.route("**/check", lambda route: route.fulfill(json={"done": False, "prediction": None}))
    page.locator("#do-it").click()
    expect(page.locator("#lesson-problem")).to_contain_text("did not reach the state that this step leads to")
    page.unroute("**/check")
    do_it(page)
    assert link_of_world(page) == lesson_data(page)["steps"][1]["start_link"]


def test_what_happened_is_shown_again_in_slow_motion(address, open_page):
    page = lesson(open_page(f"{address}/tutorials/{FIRST}"))
    go_to(page, 1)
    page.locator("#skip-prediction").click()
    page.locator("#do-it").click()
    expect(page.locator("#replay progress")).to_be_visible()
    total = page.locator("#scrub").get_attribute("max")
    # In the page itself, so that it comes in time on a machine that is slow to click.
    page.wait_for_function(
        """() => {
             const isUnderWay = Number(document.querySelector('#event-number').dataset.event) > 20;
             if (isUnderWay) document.querySelector('#skip-replay').click();
             return isUnderWay;
           }"""
    )
    expect(page.locator("#result")).to_be_visible()
    expect(page.locator("#event-number")).to_have_attribute("data-event", str(total))
    expect(page.locator("#past-banner")).to_have_count(0)


def test_a_name_in_the_text_is_marked_on_the_stage(page):
    go_to(page, 1)
    page.locator(".lesson-text code", has_text="N1").first.hover()
    expect(page.locator("#node-N1")).to_have_class(re.compile("is-mentioned"))
    page.locator("#skip-prediction").click()
    do_it(page)
    go_to(page, 2)
    page.locator("#skip-prediction").click()
    do_it(page).locator("code", has_text="hello-0").first.hover()
    expect(page.locator("[data-record].is-pointed")).to_have_count(1)


def test_hints_come_one_by_one_and_only_when_asked_for(page):
    steps = lesson_data(page)["steps"]
    number = 1 + max(range(len(steps)), key=lambda index: len(steps[index]["hints"]))
    go_to(page, number)
    for shown in range(len(steps[number - 1]["hints"])):
        expect(page.locator(".hint")).to_have_count(shown)
        page.locator("#hint").click()
    expect(page.locator("#hint")).to_have_count(0)


def test_show_me_points_at_each_thing_and_gives_the_focus_back(page):
    steps = lesson_data(page)["steps"]
    number = 1 + max(range(len(steps)), key=lambda index: len(steps[index]["point_at"]))
    go_to(page, number)
    page.locator("#show-me").focus()
    page.keyboard.press("Enter")
    popover = page.locator(".driver-popover")
    seen = []
    for target in steps[number - 1]["point_at"]:
        expect(popover).to_be_visible()
        expect(popover.locator(".driver-popover-title")).not_to_have_text(seen[-1] if seen else "")
        seen.append(popover.locator(".driver-popover-title").inner_text())
        assert target.split()[1] in seen[-1] or target.startswith(("panel", "control"))
        page.locator(".driver-popover-next-btn").press("Enter")
    expect(popover).to_have_count(0)
    expect(page.locator("#show-me")).to_be_focused()
    page.keyboard.press("Enter")
    expect(popover).to_be_visible()
    page.keyboard.press("Escape")
    expect(popover).to_have_count(0)
    expect(page.locator("#show-me")).to_be_focused()


def test_a_lesson_can_be_begun_anew(page):
    go_to(page, 1)
    page.locator("#skip-prediction").click()
    do_it(page)
    page.locator(".dots button").first.click()
    page.locator("#begin-anew").click()
    page.locator("#begin-anew-yes").click()
    expect(page.locator(".dot-done")).to_have_count(0)
    expect(page.locator("#event-number")).to_have_attribute("data-event", "0")
    page.reload()
    lesson(page)
    expect(page.locator(".dot-done")).to_have_count(0)


# ------------------------------------------------------------------------------------------------ when things go wrong


def test_a_full_server_says_so_and_the_lesson_begins_when_there_is_room(address, open_page, monkeypatch):
    monkeypatch.setattr(app.lab.session.worlds, "WORLDS_MAX", 0)
    page = open_page(f"{address}/tutorials/{FIRST}", reduced_motion="reduce")
    expect(page.locator("#world-refused")).to_contain_text("worlds are open")
    monkeypatch.undo()
    page.locator("#open-again").click()
    lesson(page)
    expect(page.locator("#world-refused")).to_have_count(0)
    go_to(page, 1)
    page.locator("#skip-prediction").click()
    do_it(page)


def test_a_server_with_too_many_pages_is_asked_again(address, open_page, monkeypatch):
    monkeypatch.setattr(app.lab.session.host, "VIEWERS_MAX", 0)
    page = open_page(f"{address}/tutorials/{FIRST}", reduced_motion="reduce")
    expect(page.locator("#connection-lost")).to_contain_text("no room")
    monkeypatch.undo()
    lesson(page)
    expect(page.locator("#connection-lost")).to_have_count(0)


@pytest.mark.parametrize("link", ["nonsense", "other"])
def test_a_link_that_leads_elsewhere_does_not_keep_one_from_the_lesson(address, open_page, link):
    page = opened(open_page(f"{address}/lab/hello"))
    fragment = link_of_world(page) if link == "other" else link
    page = open_page(f"{address}/tutorials/{FIRST}#{fragment}", reduced_motion="reduce")
    if link == "nonsense":
        page.locator("#open-again").click()
    expect(page.locator("#node-C1 .node-group")).to_contain_text("listeners")
    go_to(lesson(page), 1)
    page.locator("#skip-prediction").click()
    do_it(page)


def test_a_lesson_goes_on_after_the_server_was_gone(open_page):
    with _served() as (address, process):
        page = lesson(open_page(f"{address}/tutorials/{FIRST}", reduced_motion="reduce"))
        go_to(page, 1)
        page.locator("#skip-prediction").click()
        do_it(page)
        before = event_number(page)
        page.wait_for_function("() => location.hash.length > 20")
        go_to(page, 2)
        process.kill()
        expect(page.locator("#connection-lost")).to_be_visible()
    with _served(int(address.rpartition(":")[2])):
        expect(page.locator("#connection-lost")).to_have_count(0)
        expect_event(page, before)
        page.locator("#skip-prediction").click()
        do_it(page)
        page.close()
    open_page.complaints.clear()  # the browser's own, about the server that was gone


# ------------------------------------------------------------------------------------------------ for everybody


def test_a_whole_lesson_works_by_keyboard_alone(page):
    steps = lesson_data(page)["steps"]
    _tab_to(page, "#lesson-next")
    page.keyboard.press("Enter")
    for step in steps:
        expect(page.locator("#lesson-heading")).to_be_focused()
        if step["predict"]:
            number = step["predict"]["kind"] == "number"
            _tab_to(page, "#predict-number" if number else ".predict-card input[type=radio]")
            page.keyboard.press("1" if number else "Space")
            _tab_to(page, "#predict")
            page.keyboard.press("Enter")
            expect(page.locator("#do-it")).to_be_focused()
        if step["action"]:
            _tab_to(page, "#do-it")
            page.keyboard.press("Enter")
            expect(page.locator("#result")).to_be_focused()
        _tab_to(page, "#lesson-next")
        page.keyboard.press("Enter")
    expect(page.locator(".finished")).to_be_visible()


@pytest.mark.parametrize("language", LANGUAGES)
def test_axe_finds_nothing_in_a_lesson(address, open_page, language):
    page = lesson(open_page(f"{address}/tutorials/{FIRST}?lang={language}", reduced_motion="reduce"))
    assert findings_in_every_theme(page) == []
    go_to(page, _step_with(page, "choice"))
    expect(page.locator(".predict-card")).to_be_visible()
    assert findings_in_every_theme(page, "#lesson") == []
    page.locator("#show-me").click()
    expect(page.locator(".driver-popover")).to_be_visible()
    assert findings_in_every_theme(page, ".driver-popover") == []
    page.keyboard.press("Escape")
    page.locator(".predict-card .choice-row").last.click()
    page.locator("#predict").click()
    do_it(page)
    assert findings_in_every_theme(page) == []
    page.locator(".dots button").last.click()
    assert findings_in_every_theme(page, "#lesson") == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_axe_finds_nothing_in_the_list(address, open_page, language):
    page = open_page(f"{address}/tutorials?lang={language}")
    expect(page.locator(".lesson-item").first).to_be_visible()
    assert findings_in_every_theme(page) == []


def test_nothing_moves_by_itself_when_motion_is_reduced(page):
    go_to(page, 1)
    page.locator("#skip-prediction").click()
    page.locator("#do-it").click()
    expect(page.locator("#result")).to_be_visible()
    expect(page.locator("#replay")).to_have_count(0)
    page.locator("#show-me").click()
    expect(page.locator(".driver-popover")).to_be_visible()
    assert page.evaluate("document.getAnimations().length") == 0


def test_lesson_and_stage_are_side_by_side(address, open_page):
    small, large = ViewportSize(width=1024, height=768), ViewportSize(width=1920, height=1080)
    page = lesson(open_page(f"{address}/tutorials/{FIRST}?theme=projector", viewport=small, reduced_motion="reduce"))
    go_to(page, 1)
    for theme, size in (("projector", small), ("light", small), ("dark", large)):
        page.set_viewport_size(size)
        choose_theme(page, theme)
        for selector in ("#lesson-heading", "#lesson-next", "#control-play", "#node-P1", "#node-B1"):
            expect(page.locator(selector)).to_be_in_viewport()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_on_a_phone_text_and_stage_take_turns(address, open_page):
    phone = ViewportSize(width=390, height=844)
    page = open_page(f"{address}/tutorials/{FIRST}", viewport=phone)
    expect(page.locator("#stage .node")).to_have_count(4)
    go_to(page, 1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    expect(page.locator("#lesson-heading")).to_be_in_viewport()
    expect(page.locator("#stage")).to_be_hidden()
    expect(page.locator("#side-stage")).to_contain_text("choose here")
    page.locator("#skip-prediction").click()
    expect(page.locator("#side-stage")).to_have_text("Stage")
    page.locator("#do-it").click()
    expect(page.locator("#stage")).to_be_visible()  # what happens is shown where it happens
    expect(page.locator("#side-text")).to_contain_text("the result")
    for selector in ("#node-P1", "#control-play", "#side-text"):
        expect(page.locator(selector)).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#side-text").click()
    expect(page.locator("#result")).to_be_visible()
    expect(page.locator("#side-text")).to_have_text("Text")
    page.locator("#show-me").click()
    expect(page.locator(".driver-popover")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("#show-me")).to_be_in_viewport()  # back at the text
    expect(page.locator("#show-me")).to_be_focused()
    page.locator("#lesson-next").click()
    expect(page.locator("#lesson-heading")).to_be_in_viewport()


def _step_with(page: Page, kind: str) -> int:
    """The number of the first step that asks such a question."""
    steps = lesson_data(page)["steps"]
    return 1 + next(index for index, step in enumerate(steps) if step["predict"] and step["predict"]["kind"] == kind)


def _tab_to(page: Page, selector: str) -> None:
    """Press Tab until an element that fits has the focus."""
    for _ in range(120):
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the Tab key does not reach {selector}")


@contextmanager
def _served(port: int = 0) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A page server in a process of its own, on ``port`` (0: any): its address, and the process."""
    command = [sys.executable, "-m", "tests.e2e.scenes", "--scene", "empty", "--http-port", str(port)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip().removesuffix("/live"), process
        finally:
            process.kill()
