"""Every step of every lesson in Chromium, in both languages."""

from __future__ import annotations

import re
from functools import partial

import pytest
from playwright.sync_api import ViewportSize, expect

from app.lessons.lesson_files import lesson_names
from engine.texts import LANGUAGES
from tests.e2e.conftest import choose_language
from tests.e2e.lesson_page import (
    found_targets,
    is_in_world,
    lesson,
    lesson_data,
    read_finished_lesson,
    take_step,
)
from tests.e2e.scenes import empty_scene
from tests.support.tiers import sampled
from tests.support.waiting import wait_until as until


@pytest.mark.parametrize("name", sampled(lesson_names()))
def test_a_learner_goes_through_every_step_and_reads_it_in_the_other_language_too(serve, open_page, name):
    """Every other lesson is worked through in Chinese and then read in English."""
    language, other = LANGUAGES if lesson_names().index(name) % 2 == 0 else reversed(LANGUAGES)
    page = lesson(open_page(f"{serve(empty_scene())}/tutorials/{name}?lang={language}", reduced_motion="reduce"))
    data = lesson_data(page)
    page.locator("#lesson-next").click()
    for step in data["steps"]:
        expect(page.locator("#lesson-heading")).to_have_text(step["heading"][language])
        # The text comes before the last events of what "Show me" or an action has set going.
        until(
            partial(is_in_world, page, step["start_link"]),
            f"the world that the lesson was tried with; {step['heading'][language]}",
        )
        begin = found_targets(page, step["point_at"])
        take_step(page, step)
        assert {*begin, *found_targets(page, step["point_at"])} == set(step["point_at"])
        page.locator("#lesson-next").click()
    expect(page.locator(".finished")).to_be_visible()
    expect(page.locator(".dot-done")).to_have_count(len(data["steps"]))
    assert "{{" not in page.locator("#lesson").inner_text()
    choose_language(page, other)
    page.wait_for_url(re.compile(f"lang={other}"))
    read_finished_lesson(lesson(page), other)


def test_where_not_all_has_room_no_card_is_beside_the_stage(serve, open_page):
    small = ViewportSize(width=1024, height=768)
    path = "tutorials/19-idempotence-five-ways"
    page = lesson(open_page(f"{serve(empty_scene())}/{path}", viewport=small, reduced_motion="reduce"))
    expect(page.locator("#stage .node")).to_have_count(11)
    expect(page.locator("#node-D1")).to_be_in_viewport(ratio=0.999)  # 1, but for rounding
    expect(page.locator("#node-R1")).to_be_in_viewport(ratio=0.999)
