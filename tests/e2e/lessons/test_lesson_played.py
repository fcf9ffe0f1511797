"""A lesson's step, done by its button after the learner has played or gone back by hand."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.lab.lab_page import event_number
from tests.e2e.lesson_page import do_it, go_to, lesson
from tests.e2e.scenes import empty_scene


@pytest.fixture
def page(serve, open_page) -> Page:
    """The first lesson, without motion: nothing is shown twice."""
    return lesson(open_page(f"{serve(empty_scene())}/tutorials/01-first-message", reduced_motion="reduce"))


def test_a_step_is_done_from_play_and_from_the_past_too(page):
    go_to(page, 1)
    page.locator("#skip-prediction").click()
    # In one go: played to where the step leads, the step is done, and its button gone before a slow machine clicks it.
    page.evaluate("() => ['#control-play', '#do-it'].forEach((one) => document.querySelector(one).click())")
    page.locator("#result").wait_for()
    expect(page.locator("#control-play")).to_have_text("Play")
    go_to(page, 2)
    page.locator("#skip-prediction").click()
    before = event_number(page)
    page.locator("#control-back").click()
    expect(page.locator("#past-banner")).to_be_visible()
    do_it(page)
    assert event_number(page) > before


def test_a_step_is_done_when_the_world_was_played_past_what_its_button_waits_for(page):
    go_to(page, 1)
    page.route("**/check", lambda route: route.fulfill(json={"done": False, "prediction": None}))
    with page.expect_response("**/check"):
        page.locator("#skip-prediction").click()
    with page.expect_response("**/check"):
        page.locator("#control-play").click()  # it plays to its end; what the button waits for is event 25
    page.unroute("**/check")
    played_to = event_number(page)
    do_it(page)
    assert event_number(page) == played_to
